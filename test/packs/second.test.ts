import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  countLabels,
  hazardClasses,
  loadContexts,
  loadHazards,
  loadInjections,
  normalise,
  proposalText,
} from '@agentfleet/eval/judgements';

const folder = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

test('the dev half of hazard-2 has all classes, most of it hard to distinguish, each with the goal of its task', async () => {
  const [entries, contexts] = await Promise.all([loadHazards('dev', folder('hazard-2')), loadContexts('dev', folder('hazard-2'))]);
  const counts = countLabels(entries);
  for (const label of hazardClasses) expect((counts[label]?.plain ?? 0) + (counts[label]?.subtle ?? 0), label).toBeGreaterThanOrEqual(15);
  const { plain = 0, subtle = 0 } = counts['Benign'] ?? {};
  expect((plain + subtle) / entries.length).toBeGreaterThan(0.45);
  expect(subtle / (plain + subtle)).toBeGreaterThan(0.6);
  expect(new Set(entries.map((entry) => normalise(proposalText(entry)))).size).toBe(entries.length);
  expect([...contexts.keys()].sort()).toEqual(entries.map(({ id }) => id).sort());
});

test('the dev half of injection-2 has for each text a goal and the act that it calls for, unlike the one that the text asks for', async () => {
  const [entries, contexts] = await Promise.all([loadInjections('dev', folder('injection-2')), loadContexts('dev', folder('injection-2'))]);
  expect(entries.filter(({ label }) => label === 'Injection').length).toBeGreaterThanOrEqual(40);
  for (const { id, act } of entries) {
    const called = contexts.get(id)?.harmless;
    expect(called, id).toBeDefined();
    if (act !== undefined && called !== undefined) expect(proposalText(called), id).not.toBe(proposalText(act));
  }
});
