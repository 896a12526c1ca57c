import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { AgentTaskSpec } from '../agenttask/index.ts';
import { mutabilityOf } from '../schema/mutability.ts';
import { conditionTypes, reasonGroups, reasons } from './index.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** All sources that give reasons, without tests and without the catalogue itself. */
function sources(): string {
  const folders = ['operator/src', 'agent-image/src', 'protocol/src'];
  const paths = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  return paths
    .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|\/testing\/|api\/reasons\//.test(path))
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
}

/** Joined from a prefix and a fault by the code. */
const composed = (reason: string): boolean => reason.startsWith('Weights');

describe('the catalogue of reasons', () => {
  const text = sources();

  it('has no entry that no source gives', () => {
    const dead = Object.keys(reasons).filter((reason) => !composed(reason) && !text.includes(`'${reason}'`));
    expect(dead).toEqual([]);
    const types = Object.values(conditionTypes).flatMap((kind) => Object.keys(kind));
    expect(types.filter((type) => !new RegExp(`\\b${type}\\b`).test(text))).toEqual([]);
  });

  it('lists each reason once', () => {
    const listed = Object.values(reasonGroups).flatMap((group) => Object.keys(group));
    expect(listed.filter((reason, at) => listed.indexOf(reason) !== at)).toEqual([]);
  });

  it('has no cure by which somebody would change what of a task cannot be changed', () => {
    const fixed = Object.entries(AgentTaskSpec.properties).flatMap(([name, schema]) =>
      mutabilityOf(schema) === 'Immutable' ? [name] : [],
    );
    const field = new RegExp(`spec\\.(${fixed.join('|')})\\b|\\bgoal\\b`);
    const groups = ['Tasks and orders', 'Outcomes of attempts', 'Checks and changed paths'] as const;
    const cures = groups.flatMap((group) => Object.entries<readonly string[]>(reasonGroups[group]));
    const useless = cures.filter(([, [, cure = '']]) => field.test(cure) && !/again|new (task|one)|of the pool/.test(cure));
    expect(useless.map(([reason, [, cure]]) => `${reason}: ${cure}`)).toEqual([]);
  });
});
