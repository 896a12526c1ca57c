// Runs the tests of one case on its own text and on candidates, in this process.
//
// Standard input: {"path", "source", "tests", "candidates": [text], "from": index, "runs": bool}
// Standard output, a line each: {"run": {"test", "outcome", "message", "trace", "lines"}} for each test
// of the case's own text, {"traced": true}, then {"passed": bool} for each candidate from `from` on.
//
// Coverage comes from V8. Code that does not end by itself within its time fails; what cannot be
// ended from inside, such as an endless chain of promises, is for the parent to kill.
import { Session } from 'node:inspector';
import { stripTypeScriptTypes } from 'node:module';
import { stdin, stdout } from 'node:process';
import { text } from 'node:stream/consumers';
import vm from 'node:vm';

const syncMillis = 500;
const asyncMillis = 2000;

const { path, source, tests, candidates, from, runs } = JSON.parse(await text(stdin));
const testPath = path.replace(/(\.\w+)$/, '_test$1');
const session = new Session();
session.connect();

const post = (method, params) =>
  new Promise((resolve, reject) => {
    session.post(method, params, (error, result) => (error === null ? resolve(result) : reject(error)));
  });
const plain = (code) => (path.endsWith('ts') ? stripTypeScriptTypes(code) : code);
const say = (answer) => stdout.write(`${JSON.stringify(answer)}\n`);

/** Loads both files afresh; resolves to the tests by name. */
async function load(code) {
  const found = new Map();
  const test = (name, ...rest) => void found.set(name, rest.at(-1));
  const subject = new vm.SourceTextModule(plain(code), { identifier: path });
  const suite = new vm.SourceTextModule(plain(tests), { identifier: testPath });
  const link = async (name) => {
    if (name === `./${path}`) return subject;
    const real = name === 'node:test' ? { default: test, test, it: test } : await import(name);
    const keys = Object.keys(real);
    return new vm.SyntheticModule(keys, function fill() {
      for (const key of keys) this.setExport(key, real[key]);
    });
  };
  await suite.link(link);
  await suite.evaluate({ timeout: syncMillis });
  return found;
}

/** Runs one test; throws what it throws, or that it timed out. */
async function run(body) {
  globalThis.body = body;
  const timer = new AbortController();
  const late = new Promise((_, reject) => {
    const end = setTimeout(() => reject(new Error('the test timed out')), asyncMillis);
    timer.signal.addEventListener('abort', () => clearTimeout(end));
  });
  try {
    await Promise.race([new vm.Script('body()').runInThisContext({ timeout: syncMillis }), late]);
  } finally {
    timer.abort();
  }
}

/** Lines of the subject that ran since coverage was last taken, from 1. */
async function coveredLines(code) {
  const { result } = await post('Profiler.takePreciseCoverage');
  const script = result.filter(({ url }) => url === path).at(-1);
  const counts = new Uint8Array(code.length).fill(1);
  // Inner ranges come after the outer ones that hold them.
  for (const { ranges } of script?.functions ?? [])
    for (const { startOffset, endOffset, count } of ranges) counts.fill(Math.min(1, count), startOffset, endOffset);
  const lines = [];
  let at = 0;
  for (const [row, line] of code.split('\n').entries()) {
    const ran = [...line].some((char, column) => char.trim() !== '' && counts[at + column] === 1);
    if (script !== undefined && ran) lines.push(row + 1);
    at += line.length + 1;
  }
  return lines;
}

function messageOf(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

async function traced(name) {
  await post('Profiler.takePreciseCoverage');
  try {
    await run((await load(source)).get(name));
    return { test: name, outcome: 'Passed', message: '', trace: '', lines: await coveredLines(source) };
  } catch (error) {
    const late = error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    const message = late ? 'the test timed out' : messageOf(error);
    return { test: name, outcome: 'Failed', message, trace: error?.stack ?? '', lines: await coveredLines(source) };
  }
}

async function passes(code) {
  try {
    for (const body of (await load(code)).values()) await run(body);
    return true;
  } catch {
    return false;
  }
}

if (runs) {
  await post('Profiler.enable');
  await post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  for (const name of (await load(source)).keys()) say({ run: await traced(name) });
  await post('Profiler.disable');
  say({ traced: true });
}
for (const code of candidates.slice(from)) say({ passed: await passes(code) });
// Work that a candidate left running is of no use.
stdout.end(() => process.exit(0));
