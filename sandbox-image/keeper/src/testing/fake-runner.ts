import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { encodeFrame, FrameParser, frameLimits, type Frame, type FrameHeader } from '../link/frame.ts';
import { keeperMac, runnerMac } from '../link/connection.ts';

export interface FakeRunnerOptions {
  readonly path: string;
  readonly key: string;
  readonly instance?: string;
  /** Sent after the welcome; merged over the report of a good container. */
  readonly info?: Readonly<Record<string, unknown>>;
  /** Called for every frame after the handshake. */
  readonly onFrame?: (frame: Frame, runner: FakeRunner) => void;
}

const goodInfo = {
  t: 'info',
  version: 'fake',
  arch: 'amd64',
  kernel: '6.18',
  pid: 1,
  uid: 10001,
  gid: 10001,
  capEff: '0',
  noNewPrivs: true,
  seccomp: 2,
  dumpable: false,
  userNamespace: false,
  landlockABI: 7,
  terminals: true,
  guest: '',
  probe: { seccompDenies: true, landlockDenies: true, storeAbsent: true, powerless: true },
  cgroup: { version: 2 },
};

/** The runner's side of `LINK.md`, in the test's process, over a real socket. */
export class FakeRunner {
  readonly instance: string;
  readonly frames: Frame[] = [];
  readonly #socket: Socket;
  readonly #options: FakeRunnerOptions;
  readonly #parser = new FrameParser(frameLimits);
  readonly #ready = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #nonces: { readonly keeper: string; readonly own: string } | null = null;
  #welcomed = false;

  constructor(options: FakeRunnerOptions) {
    this.#options = options;
    this.instance = options.instance ?? randomBytes(16).toString('hex');
    this.#socket = connect(options.path);
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => {
      this.#closed.resolve();
      this.#ready.reject(new Error('the keeper closed the link before the welcome'));
    });
    this.#ready.promise.catch(() => undefined);
  }

  static async connected(options: FakeRunnerOptions): Promise<FakeRunner> {
    const runner = new FakeRunner(options);
    await runner.#ready.promise;
    return runner;
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  send(header: FrameHeader, body?: Uint8Array): void {
    this.#socket.write(encodeFrame(header, body));
  }

  sendRaw(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  out(id: string, stream: 'stdout' | 'stderr', body: string | Uint8Array): void {
    this.send({ t: 'out', id, stream }, Buffer.from(body));
  }

  end(id: string, facts: Readonly<Record<string, unknown>> = {}): void {
    const zero = { stdout: 0, stderr: 0 };
    const rest = { signal: null, timedOut: false, killed: null, oom: null, durationMs: 1, cpuMs: 1, maxRssBytes: 1, swept: 0 };
    this.send({ t: 'end', id, exitCode: 0, ...rest, bytes: zero, dropped: zero, ...facts });
  }

  drop(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#parser.push(chunk);
    for (let frame = this.#parser.next(); frame !== null; frame = this.#parser.next()) {
      if (this.#welcomed) {
        this.frames.push(frame);
        this.#options.onFrame?.(frame, this);
      } else this.#greet(frame.header);
    }
  }

  #greet(header: FrameHeader): void {
    const { key } = this.#options;
    if (header.t === 'challenge') {
      this.#nonces = { keeper: String(header['nonce']), own: randomBytes(32).toString('base64') };
      const mac = runnerMac(key, this.#nonces.keeper, this.#nonces.own, this.instance);
      this.send({ t: 'hello', v: 1, nonce: this.#nonces.own, instance: this.instance, mac });
    } else if (header.t === 'welcome' && this.#nonces !== null && header['mac'] === keeperMac(key, this.#nonces.keeper, this.#nonces.own)) {
      this.#welcomed = true;
      this.send({ ...goodInfo, ...this.#options.info });
      this.#ready.resolve();
    }
  }
}
