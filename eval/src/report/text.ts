import {
  type Comparison,
  type EvalReport,
  type Flakes,
  type Group,
  comparisonsOf,
  flakeBudget,
  flakesOf,
  groupsOf,
  reportFormat,
} from './summary.ts';
import { cleanTrials, detectable, type Interval } from '../stats/index.ts';
import { type ResultsHead, type EvalRecord, solved } from '../run/results.ts';

/** NaN was written as JSON's null. */
const none = (value: number | null): value is null => value === null || Number.isNaN(value);
const percent = (share: number | null): string => (none(share) ? '–' : `${(share * 100).toFixed(1)} %`);
const short = (value: number | null, digits = 1): string => (none(value) ? '–' : value.toFixed(digits));

/** A share with its bounds: `61.5 % (47.8–73.6)`. */
export function shareText({ value, low, high }: Interval): string {
  return none(value) ? '–' : `${percent(value)} (${short(low * 100)}–${short(high * 100)})`;
}

/** A number with its bounds: `7.2 (5.1–9.8)`. */
export function numberText({ value, low, high }: Interval, digits = 1): string {
  if (none(value)) return '–';
  return `${short(value, digits)} (${short(low, digits)}–${short(high, digits)})`;
}

export const groupHead: readonly string[] = [
  'Pack',
  'Variant',
  'Attempts',
  'Solved',
  'Overfit',
  'Tries',
  'Median',
  'Seconds',
  'p95',
  'Errors',
];

/** Cells of a row of {@link groupHead}. */
export function groupCells({ pack, variant, attempts, errors, solved, overfit, tries, seconds }: Group): readonly string[] {
  const times = [short(seconds.median), short(seconds.p95)];
  return [
    pack,
    variant,
    String(attempts),
    shareText(solved),
    String(overfit),
    numberText(tries.mean),
    short(tries.median, 0),
    ...times,
    String(errors),
  ];
}

export const comparisonHead: readonly string[] = [
  'Compared',
  'Pairs',
  'Only first',
  'Only second',
  'p',
  'Detects',
  'Difference',
  'Tries',
  'Fewer',
  'More',
];

/** Cells of a row of {@link comparisonHead}; `Detects` is the smallest difference that so many pairs show with a power of 80 %. */
export function comparisonCells({ first, second, pairs, solved, difference, tries }: Comparison): readonly string[] {
  const { onlyFirst, onlySecond, p } = solved;
  const gap = none(difference.value)
    ? '–'
    : `${short(difference.value * 100)} (${short(difference.low * 100)}–${short(difference.high * 100)}) points`;
  const least = detectable(pairs, onlyFirst + onlySecond);
  const counts = [
    String(pairs),
    String(onlyFirst),
    String(onlySecond),
    short(p, 3),
    Number.isNaN(least) ? '–' : `${short(least * 100, 0)} points`,
  ];
  return [`${second} with ${first}`, ...counts, gap, numberText(tries), String(tries.fewer), String(tries.more)];
}

/** Columns as wide as their longest cell. */
export function alignedTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ');
  return [head, ...rows].map((cells) => line(cells).trimEnd()).join('\n');
}

/** Formats a table of Markdown, for documents. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Describes flakes in a sentence; a share is proved to be within the budget when its upper bound is. */
export function flakeText({ pairs, share, tasks }: Flakes): string {
  if (pairs === 0) return 'Nothing was repeated, so nothing is known about flakes; add --rounds 2.';
  const shown = share.high <= flakeBudget;
  const verdict = share.value <= flakeBudget ? 'within' : 'OVER';
  const proof = shown ? ' by its upper bound too' : `; to show it takes ${cleanTrials(flakeBudget)} without a flake`;
  const which = tasks.length === 0 ? '' : `: ${tasks.slice(0, 5).join(', ')}${tasks.length > 5 ? ', …' : ''}`;
  return `Flakes: ${shareText(share)} of ${pairs} repeated attempts, ${verdict} the budget of ${percent(flakeBudget)}${verdict === 'OVER' ? '' : proof}${which}.`;
}

/** Formats results for a terminal. */
export function terminalReport(groups: readonly Group[], comparisons: readonly Comparison[], flakes: Flakes): string {
  const parts = [alignedTable(groupHead, groups.map(groupCells))];
  if (comparisons.length > 0) parts.push(alignedTable(comparisonHead, comparisons.map(comparisonCells)));
  return [...parts, flakeText(flakes)].join('\n\n');
}

/**
 * Sorts by pack, then by variant in the head's order (the first is the reference of comparisons), then by task;
 * independent of the order of ending.
 */
export function inOrder(head: ResultsHead, records: readonly EvalRecord[]): readonly EvalRecord[] {
  const variants = Object.keys(head.variants);
  const orderOf = ({ pack, variant, task, seed, round }: EvalRecord): string =>
    [pack, String(variants.indexOf(variant)).padStart(4, '0'), task, seed, round].join('\u0000');
  return records.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
}

/** The numbers of results, whatever their order. */
export function reportOf(head: ResultsHead, unordered: readonly EvalRecord[]): EvalReport {
  const records = inOrder(head, unordered);
  return { format: reportFormat, head, groups: groupsOf(records), comparisons: comparisonsOf(records), flakes: flakesOf(records) };
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Text for XML and HTML; characters that XML 1.0 cannot hold become U+FFFD. */
export function escaped(text: string): string {
  return text
    .replaceAll(/(?![\t\n\r])[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '\uFFFD')
    .replaceAll(/[&<>"']/g, (character) => escapes[character] ?? '');
}

function caseXml(record: EvalRecord): string {
  const { task, seed, round, wallSeconds, result, reason, hidden, message } = record;
  const name = round === 1 ? task : `${task} (round ${round})`;
  const head = `    <testcase name="${escaped(name)}" classname="${escaped(`${record.pack}.${record.variant}`)}" time="${wallSeconds.toFixed(3)}"`;
  if (solved(record)) return `${head}/>`;
  const kind = result === 'Error' ? 'error' : 'failure';
  const what = result === 'Succeeded' ? `the hidden check: ${hidden}` : `${result}: ${reason}`;
  return `${head}>\n      <${kind} message="${escaped(what)}">${escaped(`${message}\nseed ${seed}`)}</${kind}>\n    </testcase>`;
}

/** JUnit XML, a suite for each pack and variant, as test services of CI systems read it. */
export function junitXml(records: readonly EvalRecord[]): string {
  const suites = [...Map.groupBy(records, ({ pack, variant }) => `${pack} ${variant}`)].map(([name, some]) => {
    const errors = some.filter(({ result }) => result === 'Error').length;
    const failures = some.filter((record) => !solved(record)).length - errors;
    const time = some.reduce((sum, { wallSeconds }) => sum + wallSeconds, 0).toFixed(3);
    const head = `  <testsuite name="${escaped(name)}" tests="${some.length}" failures="${failures}" errors="${errors}" time="${time}">`;
    return [head, ...some.map(caseXml), '  </testsuite>'].join('\n');
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites name="fleet eval">', ...suites, '</testsuites>', ''].join('\n');
}
