// agent-image, coverage/node: recorder of the lines that each test runs. Runs in the sandbox: imports this folder and Node only.
import { closeSync, openSync, writeSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector';
import { Files, type Lines } from './files.ts';

export const testVariable = 'AGENTFLEET_TRACE_TEST';

// Kept before a test can replace them.
const [open, write, close, env] = [openSync, writeSync, closeSync, process.env];
const maxId = 512;
const maxLines = 100_000;
/** Output limit of one process. */
const maxBytes = 48 * 1024 * 1024;

/** Lines that each test of this process executes, and the file they go to. Tests at the same time share their lines. */
export class Recorder {
  readonly files: Files;
  readonly #out: string;
  readonly #session = new Session();
  readonly #active = new Map<string, Lines>();
  readonly #failed: string[] = [];
  #written = 0;
  #begun = 0;

  constructor(out: string, root: string) {
    this.#out = out;
    this.files = new Files(root);
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Tests that began in this process. */
  get begun(): number {
    return this.#begun;
  }

  begin(test: string): void {
    this.#flush();
    this.#begun += 1;
    if (test === '' || test.length > maxId) return;
    this.#active.set(test, new Map());
    env[testVariable] = test; // for the programs that it starts
  }

  /** A test with a failing subtest fails, though its own function may not. */
  end(test: string, passed: boolean): void {
    this.#flush();
    const lines = this.#active.get(test);
    if (lines === undefined) return;
    this.#active.delete(test);
    const running = [...this.#active.keys()].at(-1);
    if (running === undefined) delete env[testVariable];
    else env[testVariable] = running;
    const failed = !passed || this.#failed.some((name) => name.startsWith(`${test} > `));
    if (failed) this.#failed.push(test);
    this.#save({ test, outcome: failed ? 'Failed' : 'Passed', covered: reported(lines) });
  }

  /** Reports all that this process executed since the last test, as one run or as a part of the test that started it. */
  whole(test: string, outcome: 'Passed' | 'Failed' | null): void {
    const lines: Lines = new Map();
    this.files.add(this.#take(), lines);
    const covered = reported(lines);
    if (covered.length > 0) this.#save(outcome === null ? { test, part: true, covered } : { test, outcome, covered });
  }

  #flush(): void {
    const scripts = this.#take();
    for (const lines of this.#active.values()) this.files.add(scripts, lines);
  }

  /** Counts since the last call; the session of the same thread answers at once. */
  #take(): readonly Profiler.ScriptCoverage[] {
    let result: readonly Profiler.ScriptCoverage[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error === null) result = answer.result;
    });
    return result;
  }

  #save(record: object): void {
    const line = `${JSON.stringify(record)}\n`;
    if (this.#written + line.length > maxBytes) return;
    this.#written += line.length;
    // Opened for each line: a crash loses nothing.
    const file = open(`${this.#out}/${process.pid}.jsonl`, 'a', 0o600);
    try {
      write(file, line);
    } finally {
      close(file);
    }
  }
}

function reported(lines: Lines): readonly { readonly path: string; readonly lines: readonly number[] }[] {
  let room = maxLines;
  return [...lines]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, numbers]) => {
      const kept = [...numbers].sort((a, b) => a - b).slice(0, room);
      room -= kept.length;
      return { path, lines: kept };
    })
    .filter((one) => one.lines.length > 0);
}
