// agent-image, checks/parse: parser for the output of cargo test. Imports no other folder of the worker.
import type { CommandOutput, Counts, Outcome, ParsedResults } from './results.ts';
import { Collector, linesOf, type Found } from './collector.ts';

const outcomes: Readonly<Record<string, Outcome>> = { ok: 'Passed', bench: 'Passed', FAILED: 'Failed', ignored: 'Skipped' };

const header = /^running (\d{1,9}) tests?$/;
const point = /^test (\S.*?)( \(line \d+\))?( - [a-z ]+)? \.\.\. (ok|FAILED|ignored|bench)(?=$|[ ,:])/;
const summary =
  /^test result: (?:ok|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored; (\d{1,9}) measured; \d{1,9} filtered out(?=$|;)/;

/** Tests of one program: those of a crate, of one file below `tests`, or of the documentation of a crate. */
interface Block {
  /** Number of tests that its first line announces. */
  readonly announced: number;
  readonly found: Found[];
  /** From its last line; null where it was cut off. */
  counts: Counts | null;
  /** Text that failing tests printed. */
  readonly texts: Map<string, string>;
  /** Names in the list of failures. */
  readonly failures: Set<string>;
  /** It has tests of code, not only of its documentation. */
  code: boolean;
  /** Results come first, then what tests printed, test by test, then a list of their names. */
  part: 'Results' | 'failures:' | 'successes:';
  section: string | null;
}

const cure = 'let tests not print what their runner prints';
const read = 'read the output of the check';

/**
 * cargo test: the text of libtest (doc.rust-lang.org/rustc/tests), one block for each program with tests. Ids are the paths of
 * tests; those of the documentation have no line, which moves with the code. With `-q` only failing tests have a name.
 *
 * The output of several programs has no last line: only `truncated` and the exit code show that some were cut off.
 */
export function parseCargoTest({ stdout, stderr }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const { lines, ended, cut } = linesOf(stdout);
  const blocks = blocksOf(collector, ended ? lines : lines.slice(0, -1));
  if (blocks.length === 0) collector.incomplete(`no tests ran: ${stderr.trim().slice(0, 200)}`, read);
  if (!ended || cut) collector.incomplete('the last line has no line end', read);
  for (const { announced, counts } of blocks) {
    if (counts === null) collector.incomplete('a program with tests has no result', read);
    else if (sumOf(counts) !== announced)
      collector.distrust('CountsDisagree', `${announced} tests were announced and ${sumOf(counts)} are counted`, cure);
  }
  checkPrograms(collector, blocks, [...lines, ...linesOf(stderr).lines]);
  // Without --no-fail-fast, the programs that follow a failing one do not run.
  collector.stopped = blocks.some(({ counts }) => counts === null || counts.failed > 0);
  if (blocks.every(({ found, counts }) => counts === null || addsUp(found, counts))) addNamed(collector, blocks);
  else nameFailuresOnly(collector, blocks);
  return collector.finish('CargoTest');
}

const sumOf = ({ passed, failed, skipped }: Counts): number => passed + failed + skipped;

function blocksOf(collector: Collector, lines: readonly string[]): readonly Block[] {
  const blocks: Block[] = [];
  let open: Block | null = null;
  for (const line of lines) {
    const announced = open === null || open.part === 'Results' ? header.exec(line)?.[1] : undefined;
    if (announced !== undefined) {
      if (open !== null) collector.distrust('CountsDisagree', 'tests begin before the result of others', cure);
      open = blockOf(Number(announced));
      blocks.push(open);
    } else if (open === null) {
      if (summary.test(line)) collector.distrust('TwoSummaries', 'a result of tests comes outside of their run', cure);
    } else if (isLast(open, line)) open = null;
  }
  return blocks;
}

function blockOf(announced: number): Block {
  return { announced, found: [], counts: null, texts: new Map(), failures: new Set(), code: false, part: 'Results', section: null };
}

/** Reads a line of an open block. */
function isLast(block: Block, line: string): boolean {
  if (block.section === null) block.counts = countsOf(line);
  if (block.counts !== null) return true;
  if (line === 'failures:' || line === 'successes:') {
    block.part = line;
    block.section = null;
  } else if (block.part === 'Results') takePoint(block, line);
  else takePrinted(block, line);
  return false;
}

function countsOf(line: string): Counts | null {
  const counts = summary.exec(line)?.slice(1).map(Number);
  if (counts === undefined) return null;
  const [passed = 0, failed = 0, skipped = 0, measured = 0] = counts;
  return { passed: passed + measured, failed, skipped, errored: 0 };
}

/** Takes the result in a line; where a program leaves its last line open, it is in the middle of the line. */
function takePoint(block: Block, line: string): void {
  const parts = point.exec(line) ?? point.exec(line.slice(Math.max(0, line.lastIndexOf('test '))));
  const [whole, name = '', place, how = '', word = ''] = parts ?? [];
  if (whole === undefined) return;
  if (place === undefined) block.code = true;
  block.found.push({ id: `${name}${how}`, outcome: outcomes[word] ?? 'Failed' });
}

function takePrinted(block: Block, line: string): void {
  const section = /^---- (\S.*) stdout ----$/.exec(line)?.[1];
  if (section !== undefined) block.section = withoutPlace(section);
  else if (block.section === null) {
    const listed = block.part === 'failures:' ? /^ {4}(\S.*)$/.exec(line)?.[1] : undefined;
    if (listed !== undefined) block.failures.add(withoutPlace(listed));
  } else {
    const text = block.texts.get(block.section) ?? '';
    if (text.length < 2000) block.texts.set(block.section, `${text}${line}\n`);
  }
}

const withoutPlace = (name: string): string => name.replace(/ \(line \d+\)$/, '');

function addsUp(found: readonly Found[], { passed, failed, skipped }: Counts): boolean {
  const sum = (outcome: Outcome): number => found.filter((one) => one.outcome === outcome).length;
  return sum('Passed') === passed && sum('Failed') === failed && sum('Skipped') === skipped;
}

function addNamed(collector: Collector, blocks: readonly Block[]): void {
  for (const { found, texts } of blocks)
    for (const one of found) {
      const message = one.outcome === 'Failed' ? texts.get(one.id.replace(/ - [a-z ]+$/, '')) : undefined;
      collector.add({ ...one, ...(message !== undefined && { message: message.trim() }) });
    }
}

function nameFailuresOnly(collector: Collector, blocks: readonly Block[]): void {
  const sum = { passed: 0, failed: 0, skipped: 0, errored: 0 };
  for (const { failures, texts, counts } of blocks) {
    for (const id of failures) collector.add({ id, outcome: 'Failed', message: (texts.get(id) ?? '').trim() });
    sum.passed += counts?.passed ?? 0;
    sum.skipped += counts?.skipped ?? 0;
    if (counts !== null && failures.size !== counts.failed)
      collector.distrust('NamesMissing', `${counts.failed} tests fail and ${failures.size} are named`, cure);
  }
  collector.evidence = 'Counts';
  collector.unnamed = sum;
  collector.note('NamesMissing', 'passing tests are counted, not named', 'let cargo test not be quiet, and tests print whole lines');
}

/** cargo names the programs that it runs on standard error: more than those cannot have results. */
function checkPrograms(collector: Collector, blocks: readonly Block[], lines: readonly string[]): void {
  const ran = lines.filter((line) => /^ +Running \S/.test(line)).length;
  const known = ran > 0 || lines.some((line) => /^ +Doc-tests \S/.test(line));
  const programs = blocks.filter(({ code }) => code).length;
  if (known && programs > ran) collector.distrust('TwoSummaries', `${programs} programs have results of tests, and cargo ran ${ran}`, cure);
}
