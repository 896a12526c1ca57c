import { solved, type EvalRecord } from '../run/record.ts';

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
