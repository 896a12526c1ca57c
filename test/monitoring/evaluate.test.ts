// Results of rules and alerts, by Prometheus' own engine: it must be built first, so this is in the long runs.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { healthy, recorded, sick } from './scenes.ts';
import { ruleGroups } from './catalogue.ts';

const engine = fileURLToPath(new URL('engine', import.meta.url));
/** Longest build of an engine on a busy machine, ms. */
const longest = 900_000;
const expressions = new Map<string, string>();
let alerts: readonly string[];

beforeAll(async () => {
  const rules = (await ruleGroups()).flatMap((group) => group.rules);
  // Recorded series are replaced by their expressions: each may use those before it.
  const whole = (expr: string): string =>
    [...expressions]
      .filter(([name]) => name.startsWith('fleet:'))
      .reduceRight((text, [name, made]) => text.replaceAll(name, `(${made})`), expr);
  for (const { alert, record, expr } of rules) expressions.set(alert ?? record ?? '', whole(expr.replaceAll(/\s+/g, ' ')));
  alerts = rules.flatMap(({ alert }) => (alert === undefined ? [] : [alert]));
});

/** A scene, and the queries in its 40th minute. */
function scene(series: readonly string[], asked: Readonly<Record<string, readonly string[]>>): string {
  const questions = Object.entries(asked).map(([name, rows]) =>
    [`eval instant at 40m ${expressions.get(name) ?? name}`, ...rows.map((row) => `  ${row}`)].join('\n'),
  );
  return [['clear', 'load 1m', ...series.map((line) => `  ${line}`)].join('\n'), ...questions].join('\n\n');
}

it('there is a case of each alert', () => {
  expect(Object.keys(sick).toSorted()).toEqual(alerts.toSorted());
});

describe.runIf(process.env['AGENTFLEET_FULL'] === '1')('the engine of Prometheus', () => {
  it('finds nothing in a fleet that is well, and each alert where its cause is', { timeout: longest }, async () => {
    const quiet = Object.fromEntries(alerts.map((name) => [name, []]));
    const scenes = Object.entries(sick).map(([name, { without = [], series = [], tells }]) =>
      scene([...healthy.filter((line) => !without.some((start) => line.startsWith(start))), ...series], { [name]: tells }),
    );
    const folder = await mkdtemp(join(tmpdir(), 'agentfleet-rules-'));
    try {
      const path = join(folder, 'rules.test');
      await writeFile(path, [scene(healthy, { ...recorded, ...quiet }), ...scenes, ''].join('\n\n'));
      const argv = ['test', '-count=1', '-run=TestScript', '.'];
      const { all, exitCode } = await execa('go', argv, { cwd: engine, env: { SCRIPT: path }, reject: false, all: true });
      expect({ exitCode, all }).toEqual({ exitCode: 0, all: expect.anything() as string });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
