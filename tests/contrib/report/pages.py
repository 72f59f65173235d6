"""Reports in a real browser."""

import contextlib


@contextlib.contextmanager
def opened(started, path, width=1600, **options):
    """A page with its chart. At the end no message and no request may have occurred."""
    context = started.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
    page, messages, requests = context.new_page(), [], []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("dialog", lambda dialog: (messages.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#chart svg .mark-symbol path")
    yield page
    context.close()
    assert messages == []
    assert [url for url in requests if not url.startswith(("blob:", "data:"))] == [path.as_uri()]
