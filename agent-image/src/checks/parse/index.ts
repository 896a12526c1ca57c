/** Parses the output of test runners, one format a file. Pure. Of the worker it imports `base`. */
import {
  pointFormats,
  summedFormats,
  wholeRun,
  type CommandOutput,
  type ParsedResults,
  type PointFormat,
  type ResultFormat,
  type SummedFormat,
} from './results.ts';
import { withAgreement } from './agreement.ts';
import { parseCargoTest } from './cargoTest.ts';
import { parseGoTest } from './goTest.ts';
import { parseJUnit, looksLikeJUnit, reportOfBuild } from './junit.ts';
import { parseNodeTest } from './nodeTest.ts';
import { isPointsOf, parsePoints } from './points.ts';
import { parsePytest, tallyOf } from './pytest.ts';
import { isSummedBy, parseSummed } from './summed.ts';
import { parseTap } from './tap.ts';
import { parseUnittest } from './unittest.ts';
import { Collector, linesOf } from './collector.ts';

interface Sign {
  readonly format: ResultFormat;
  readonly seen: (lines: readonly string[], output: CommandOutput) => boolean;
}

const some = (pattern: RegExp) => (lines: readonly string[]) => lines.some((line) => line.length < 1000 && pattern.test(line));

/** A plan and the first point of it, behind what a makefile or a script printed before. */
function hasPlan(lines: readonly string[]): boolean {
  const written = lines.filter((line) => line.trim() !== '' && !line.startsWith('#'));
  return written.some((line, at) => /^1\.\.[1-9]\d{0,8}$/.test(line) && /^(?:not )?ok 1\b/.test(written[at + 1] ?? ''));
}

/** In this order: a runner's first lines before its summary, structured output before text. */
const signs: readonly Sign[] = [
  ...pointFormats.map((format): Sign => ({ format, seen: (lines) => isPointsOf(format, lines) })),
  { format: 'Pytest', seen: some(/^=+ test session starts =+$/) },
  { format: 'GoTest', seen: some(/^\{"(?:Time|ImportPath)":.*"Action":"/) },
  { format: 'NodeTest', seen: (lines) => some(/^TAP version 1[34]$/)(lines) && some(/^# duration_ms /)(lines) },
  { format: 'NodeTest', seen: (lines) => some(/^ℹ tests \d+$/)(lines) && some(/^ℹ pass \d+$/)(lines) },
  { format: 'TAP', seen: (lines) => /^(?:TAP version 1[34]|1\.\.\d+)/.test(lines.find((line) => line.trim() !== '') ?? '') },
  { format: 'TAP', seen: some(/^TAP version 1[34]$/) },
  { format: 'TAP', seen: (lines) => /^(?:not )?ok 1\b/.test(lines.find((line) => line.trim() !== '') ?? '') && some(/^1\.\.\d+$/)(lines) },
  { format: 'TAP', seen: hasPlan },
  { format: 'JUnit', seen: (_, { stdout }) => looksLikeJUnit(stdout) },
  { format: 'GoTest', seen: some(/^(?:ok|FAIL|\?)\s{0,8}\t\S+(?:\t| \[)/) },
  {
    format: 'CargoTest',
    seen: (lines) => some(/^running [1-9]\d* tests?$/)(lines) && some(/^test (?:\S.* \.\.\. |result: (?:ok|FAILED)\. \d)/)(lines),
  },
  {
    format: 'Unittest',
    seen: (lines, { stderr }) => some(/^Ran \d+ tests? in [\d.]+s$/)([...lines, ...linesOf(stderr).lines]),
  },
  { format: 'Pytest', seen: (lines) => lines.some((line) => tallyOf(line) !== null) },
  ...summedFormats.map((format): Sign => ({
    format,
    seen: (lines, { stderr }) => isSummedBy(format, [...lines, ...linesOf(stderr).lines]),
  })),
];

/** Chooses the format by the printed output; report files decide when it shows none. */
function detect(output: CommandOutput): ResultFormat {
  const { lines } = linesOf(output.stdout);
  const found = signs.find(({ seen }) => seen(lines, output))?.format;
  const readsFiles = found !== 'Pytest' && found !== 'NodeTest';
  return readsFiles && (output.files ?? []).length > 0 ? 'JUnit' : (found ?? 'Exit');
}

/** Reads nothing: the command passes with exit code 0. */
function parseExit({ exitCode }: CommandOutput): ParsedResults {
  const collector = new Collector();
  collector.evidence = 'Exit';
  const message = exitCode === null ? 'no exit code' : `exit code ${exitCode}`;
  collector.add({ id: wholeRun, outcome: exitCode === 0 ? 'Passed' : 'Failed', message });
  return collector.finish('Exit');
}

const parsers: Readonly<Record<Exclude<ResultFormat, SummedFormat | PointFormat>, (output: CommandOutput) => ParsedResults>> = {
  Exit: parseExit,
  JUnit: parseJUnit,
  TAP: parseTap,
  Pytest: parsePytest,
  NodeTest: parseNodeTest,
  GoTest: parseGoTest,
  Unittest: parseUnittest,
  CargoTest: parseCargoTest,
};

const isSummed = (format: ResultFormat): format is SummedFormat => (summedFormats as readonly ResultFormat[]).includes(format);
const isPoints = (format: ResultFormat): format is PointFormat => (pointFormats as readonly ResultFormat[]).includes(format);

/**
 * Reads the results of a check's command. Never throws; untrusted results are listed in `problems`.
 *
 * For the result of an attempt pass the format that the baseline had, not `Auto`: the attempt controls the output, and
 * could choose a weaker one.
 *
 * @example parseResults('TAP', { exitCode: 0, stdout: '1..1\nok 1 - adds\n', stderr: '' }); // { format: 'TAP',
 * evidence: 'Tests', complete: true, tests: [{ id: 'adds', outcome: 'Passed', … }], … }
 */
export function parseResults(format: ResultFormat | 'Auto', output: CommandOutput): ParsedResults {
  const { files = [] } = output;
  // What a command does not name counts where its output shows no other runner.
  const named = { ...output, files: files.filter(({ path }) => !reportOfBuild.test(path)) };
  const shown = format === 'Auto' ? detect(named) : format;
  const found = format === 'Auto' && shown === 'Exit' && files.length > 0 ? 'JUnit' : shown;
  const own = found === 'JUnit' ? output : named;
  const results = isSummed(found) ? parseSummed(found, own) : isPoints(found) ? parsePoints(found, own) : parsers[found](own);
  return withAgreement(results, own);
}
