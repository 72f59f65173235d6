"""Events of launched run groups."""


def kinds(events):
    return [(group, event["event"]) for group, event in events]
