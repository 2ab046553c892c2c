// worker.js - runs one command of Larder on files, posts its progress and then
// what it wrote.  createLarder() is the command, compiled (cmake/app.cmake).

// The standard output, byte by byte.
class Output {
  constructor() {
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }

  put(byte) {
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length++] = byte;
  }

  all() {
    return this.bytes.slice(0, this.length);
  }
}

// The standard error: lines, and a progress bar that draws over itself.
class Messages {
  constructor() {
    this.lines = [];
    this.line = [];
  }

  put(byte) {
    const character = String.fromCharCode(byte);
    if (character === "\r") {
      this.line = [];
    } else if (character === "\n") {
      this.lines.push(this.text());
      this.line = [];
    } else {
      this.line.push(byte);
      if (character === "%") this.tellProgress();
    }
  }

  text() {
    return new TextDecoder().decode(Uint8Array.from(this.line));
  }

  tellProgress() {
    const match = /(\d+)%$/.exec(this.text());
    if (match) postMessage({ percent: Number(match[1]) });
  }

  all() {
    return this.lines.join("\n");
  }
}

// The command sees the files in its working folder, read where they are.
function prepareFiles(larder, files) {
  larder.FS.mkdir("/work");
  larder.FS.mount(larder.WORKERFS,
    { blobs: files.map(({ name, file }) => ({ name, data: file })) }, "/work");
  larder.FS.chdir("/work");
}

async function runCommand({ module, files, args }) {
  const output = new Output(), messages = new Messages();
  const larder = await createLarder({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(module, imports).then(done);
      return {};
    },
    preRun: [(m) => {
      m.ENV.TERM = "xterm"; // so that progress is shown
      m.FS.init(null, (byte) => output.put(byte), (byte) => messages.put(byte));
      m.FS.streams[2].tty = {};
    }],
    quit(status, stop) {
      throw stop;
    },
  });
  prepareFiles(larder, files);
  const status = larder.callMain(args);
  const bytes = output.all();
  postMessage({ status, bytes, said: messages.all() }, [bytes.buffer]);
}

onmessage = ({ data }) => {
  runCommand(data).catch((error) => postMessage({ error: String(error) }));
};
