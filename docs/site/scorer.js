// Of pages that a search finds in their text alone, those of encodings come first: Sphinx would
// show them in the order of their titles.
const _ENCODING = 3; // less than the difference between a title and a text

var Scorer = {
  score: ([docname, , , , score]) => score + (docname.startsWith("encodings/") ? _ENCODING : 0),
  // The others are Sphinx's own values.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
