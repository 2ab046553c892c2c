"""browser.py - Chromium without a window, driven through the DevTools
protocol: pages are used as a person uses them, with real clicks and keys.

The protocol runs over two pipes (--remote-debugging-pipe): messages are JSON,
each ended by a NUL.
"""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
FLAGS = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
         '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--hide-scrollbars',
         '--force-color-profile=srgb', '--remote-debugging-pipe')
# Of the protocol: the modifiers of a key or click.
ALT, CTRL, META, SHIFT = 1, 2, 4, 8
# Keys whose code cannot be told from their name.
KEY_CODES = {'Escape': 27, 'Enter': 13, 'ArrowLeft': 37, 'ArrowUp': 38,
             'ArrowRight': 39, 'ArrowDown': 40, 'Home': 36, 'End': 35,
             'Tab': 9}


class PageError(Exception):
    """What a page or the browser said went wrong."""


def command():
    """Where Chromium is, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def _above(fd):
    """The same pipe under a number that nothing else is given."""
    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(fd)
    return high


class Browser:
    """A browser of its own, with a profile that is thrown away."""

    def __init__(self, seconds=30, env=None):
        self.seconds = seconds
        self.number = 0
        self.events = []
        self.unread = b''
        self.profile = tempfile.mkdtemp(prefix='larder-browser-')
        orders, answers = os.pipe(), os.pipe()
        theirs = _above(orders[0]), _above(answers[1])

        def place():
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self.process = subprocess.Popen(
            [command(), *FLAGS, f'--user-data-dir={self.profile}',
             'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=place,
            env={**os.environ, **(env or {})})
        for fd in theirs:
            os.close(fd)
        self.orders, self.answers = orders[1], answers[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.orders)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def send(self, method, session=None, **params):
        """One order and its answer; what else is told meanwhile is kept."""
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if session:
            message['sessionId'] = session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.orders, data):]
        until = time.monotonic() + self.seconds
        while True:
            answer = self.message(until, method)
            if answer.get('id') == self.number:
                break
            if 'method' in answer:
                self.events.append(answer)
        if 'error' in answer:
            raise PageError(f"{method}: {answer['error']['message']}")
        return answer['result']

    def message(self, until, method):
        while b'\0' not in self.unread:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise PageError(f'{method}: no answer')
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise PageError(f'{method}: the browser has gone')
            self.unread += piece
        message, self.unread = self.unread.split(b'\0', 1)
        return json.loads(message)

    def open(self, path, width=1400, height=1000):
        """The page of a file or an address, when it says that it is ready."""
        target = self.send('Target.createTarget', url='about:blank')
        page = Page(self, self.send('Target.attachToTarget', flatten=True,
                                    targetId=target['targetId'])['sessionId'],
                    target['targetId'])
        for domain in ('Page', 'Runtime', 'Log'):
            page.send(f'{domain}.enable')
        page.send('Emulation.setDeviceMetricsOverride', width=width,
                  height=height, deviceScaleFactor=1, mobile=False)
        page.send('Page.navigate', url=path if '://' in str(path)
                  else pathlib.Path(path).absolute().as_uri())
        page.wait("document.documentElement?.dataset.ready === 'yes'")
        return page


class Page:
    """One page of a browser."""

    def __init__(self, browser, session, target):
        self.browser = browser
        self.session = session
        self.target = target

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def close(self):
        self.browser.send('Target.closeTarget', targetId=self.target)

    def run(self, script):
        """The value of an expression in the page."""
        said = self.send('Runtime.evaluate', expression=script,
                         returnByValue=True, awaitPromise=True,
                         allowUnsafeEvalBlockedByCSP=False)
        if 'exceptionDetails' in said:
            told = said['exceptionDetails']
            raise PageError(told.get('exception', {}).get('description',
                                                          told['text']))
        return said['result'].get('value')

    def wait(self, script, seconds=None):
        """Until an expression is true."""
        until = time.monotonic() + (seconds or self.browser.seconds)
        while not self.run(script):
            if time.monotonic() > until:
                raise PageError(f'it never came to be that {script}')
            time.sleep(0.02)

    def to_front(self):
        """A page that another was opened over draws nothing."""
        self.send('Page.bringToFront')

    def settle(self):
        """Until what was asked for is drawn."""
        self.run('new Promise((done) => requestAnimationFrame(() => '
                 'requestAnimationFrame(() => done(true))))')

    def traced(self, act):
        """What the page's threads did while act() ran: events of a trace,
        with the processor's time that each took (`tdur`, in µs)."""
        browser = self.browser
        self.send('Tracing.start', categories='devtools.timeline',
                  transferMode='ReportEvents')
        act()
        self.send('Tracing.end')
        until = time.monotonic() + browser.seconds
        told = browser.events
        while not any(m['method'] == 'Tracing.tracingComplete' for m in told):
            told.append(browser.message(until, 'Tracing.end'))
        browser.events = [m for m in told if 'Tracing' not in m['method']]
        return [event for m in told if m['method'] == 'Tracing.dataCollected'
                for event in m['params']['value']]

    def complaints(self):
        """Errors of scripts and refused loads, so far."""
        out = []
        for event in self.browser.events:
            if event.get('sessionId') != self.session:
                continue
            if event['method'] == 'Runtime.exceptionThrown':
                told = event['params']['exceptionDetails']
                out.append(told.get('exception', {}).get('description',
                                                         told['text']))
            elif event['method'] == 'Log.entryAdded' and \
                    event['params']['entry']['level'] == 'error':
                out.append(event['params']['entry']['text'])
        return out

    # ---- what hands do ----

    def key(self, key, modifiers=0):
        text = key if len(key) == 1 else {'Enter': '\r'}.get(key, '')
        for kind in ('keyDown', 'keyUp'):
            more = {'text': text} if text and kind == 'keyDown' and \
                not modifiers & (CTRL | ALT | META) else {}
            self.send('Input.dispatchKeyEvent', type=kind, key=key,
                      modifiers=modifiers, **more,
                      windowsVirtualKeyCode=KEY_CODES.get(
                          key, ord(key.upper()) if len(key) == 1 else 0))
        self.settle()

    def type(self, text):
        self.send('Input.insertText', text=text)

    def mouse(self, kind, x, y, held=False, modifiers=0, **more):
        self.send('Input.dispatchMouseEvent', type=kind, x=x, y=y,
                  button='left' if held else 'none', buttons=int(held),
                  modifiers=modifiers, **more)

    def move(self, x, y):
        self.mouse('mouseMoved', x, y)
        self.settle()

    def click(self, x, y, count=1, modifiers=0):
        self.mouse('mouseMoved', x, y, modifiers=modifiers)
        for n in range(1, count + 1):
            self.mouse('mousePressed', x, y, True, modifiers, clickCount=n)
            self.mouse('mouseReleased', x, y, True, modifiers, clickCount=n)
        self.settle()

    def slow_click(self, x, y, seconds):
        """The button stays down that long."""
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, True, clickCount=1)
        time.sleep(seconds)
        self.mouse('mouseReleased', x, y, True, clickCount=1)
        self.settle()

    def drag(self, begin, end, modifiers=0):
        self.mouse('mouseMoved', *begin, modifiers=modifiers)
        self.mouse('mousePressed', *begin, True, modifiers, clickCount=1)
        for step in (0.3, 0.7, 1):
            self.mouse('mouseMoved',
                       *(a + (b - a) * step for a, b in zip(begin, end)),
                       True, modifiers)
        self.mouse('mouseReleased', *end, True, modifiers, clickCount=1)
        self.settle()

    def wheel(self, x, y, by):
        self.mouse('mouseWheel', x, y, deltaX=0, deltaY=by)
        self.settle()

    # ---- where things are ----

    def box(self, selector):
        """Left, top, width and height of an element, scrolled into sight."""
        found = self.run(
            '(() => { const e = document.querySelector(%s); if (!e) return '
            'null; e.scrollIntoView({ block: "nearest" }); const b = '
            'e.getBoundingClientRect(); return [b.left, b.top, b.width, '
            'b.height]; })()' % json.dumps(selector))
        if not found:
            raise PageError(f'nothing is {selector}')
        return found

    def press(self, selector):
        """A click on the middle of an element."""
        left, top, width, height = self.box(selector)
        self.click(left + width / 2, top + height / 2)

    def text(self, selector):
        return self.run('document.querySelector(%s).textContent' %
                        json.dumps(selector))

    def choose_files(self, selector, paths):
        """As a person does in the dialogue of such an input."""
        self.to_front()
        document = self.send('DOM.getDocument')['root']['nodeId']
        node = self.send('DOM.querySelector', nodeId=document,
                         selector=selector)['nodeId']
        self.send('DOM.setFileInputFiles', nodeId=node,
                  files=[str(path) for path in paths])

    def small_picture(self, scale):
        """A PNG of what is in sight, drawn as small as a scale says."""
        width, height = self.run('[innerWidth, innerHeight]')
        clip = {'x': 0, 'y': 0, 'width': width, 'height': height,
                'scale': scale}
        return base64.b64decode(self.send(
            'Page.captureScreenshot', format='png', clip=clip)['data'])

    def picture(self, path=None, selector=None):
        """A PNG of the page, or of one element."""
        more = {}
        if selector:
            x, y, width, height = self.box(selector)
            more['clip'] = {'x': x, 'y': y, 'width': width, 'height': height,
                            'scale': 1}
        data = base64.b64decode(self.send('Page.captureScreenshot',
                                          format='png', **more)['data'])
        if path:
            pathlib.Path(path).write_bytes(data)
        return data
