import { fileURLToPath } from 'node:url';
import { loadPack, toAgentTask, type PackTask } from '@agentfleet/eval/format';
import { fixedSample, requireSound } from '@agentfleet/eval/verify';
import { ajvOptions, maxInlineCharacters, validators } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';

const full = process.env['AGENTFLEET_FULL'] === '1';
const options = { parallel: 2, memoryMiB: 1024, signal: new AbortController().signal };
const at = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const [os, issues, acceptance] = await Promise.all(['os', 'mini-swe', 'acceptance'].map((name) => loadPack(at(name))));
const packs = [os, issues, acceptance].filter((pack) => pack !== undefined);

const isLater = ({ tags }: PackTask): boolean => tags.includes('later');

describe.each(packs.map((pack) => [pack.manifest.name, pack] as const))('the pack %s', (_, pack) => {
  it(`has ${full ? 'only' : 'a sample of'} sound tasks`, async () => {
    const tasks = full ? pack.tasks : fixedSample(pack.tasks, 4);
    expect(await requireSound({ ...pack, tasks }, options)).toHaveLength(tasks.length);
  });

  it('has tasks that a cluster takes', () => {
    const validate = validators(new Ajv({ ...ajvOptions })).AgentTask;
    const target = { namespace: 'eval', pool: { name: 'coding', namespace: 'agentfleet-pools' } };
    const manifests = pack.tasks.map((task) => structuredClone(toAgentTask(task, { ...target, suffix: 's1' })));
    for (const manifest of manifests) {
      expect(validate(manifest), `${manifest.metadata.name}: ${JSON.stringify(validate.errors)}`).toBe(true);
      expect(manifest.metadata.name).toMatch(/^[a-z0-9-]{1,63}$/);
      expect(JSON.stringify(manifest.spec.workspace).length).toBeLessThan(maxInlineCharacters);
    }
    expect(new Set(manifests.map(({ metadata }) => metadata.name)).size).toBe(manifests.length);
  });
});

describe('the pack os', () => {
  const tasks = os?.tasks ?? [];

  it('looks at a whole state, and has a wrong way for most tasks', () => {
    for (const { id, hidden } of tasks) expect(Object.keys(hidden.files), id).toContain('hidden/expected.json');
    expect(tasks.filter(({ decoys }) => decoys.length > 0).length).toBeGreaterThanOrEqual(tasks.length * 0.9);
  });

  it('keeps its halves of a size', () => {
    const dev = tasks.filter(({ half }) => half === 'dev').length;
    expect(tasks.length).toBeGreaterThanOrEqual(200);
    expect(Math.abs(2 * dev - tasks.length)).toBeLessThanOrEqual(tasks.length / 5);
  });
});

describe('the pack acceptance', () => {
  it('reports what is missing for each postponed task', () => {
    const later = acceptance?.tasks.filter(isLater) ?? [];
    for (const { id, facts } of acceptance?.tasks ?? [])
      expect(typeof facts['later'] === 'string', id).toBe(later.some((task) => task.id === id));
    expect(later.length).toBeGreaterThan(0);
  });
});
