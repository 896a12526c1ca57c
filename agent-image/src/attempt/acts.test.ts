import type { AgentTask } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import { createRails, installedGrammars, loadGrammars } from '../rails/index.ts';
import { createGate } from './gate.ts';
import { onlyOnce } from './acts.ts';

const rails = createRails({ grammars: await loadGrammars(installedGrammars()), home: '/home/agent' });
const policy = { profile: 'Privileged', network: { mode: 'Allowed' } };
const task = { spec: { policy, protect: { mode: 'Default' } } } as unknown as AgentTask;
const gate = createGate({ rails, task, roots: ['/workspace'], absolute: (path) => `/workspace/${path}` }, null);

test.each([
  ['make build', false, false, false],
  ['make build', true, false, true],
  ['make build', false, true, true],
  ['git commit -qam x && git push origin main', false, false, true],
  ['kubectl apply -f app.yaml', false, false, true],
])('%s, allowed by a person: %s, with a way out: %s, is run only once: %s', (command, approved, reaches, once) => {
  expect(
    onlyOnce(gate, {
      acts: [
        { tool: 'Shell', command: 'true' },
        { tool: 'Shell', command },
      ],
      approved,
      reach: reaches ? { mode: 'Allowed', hosts: [], rules: { open: [] }, environment: {} } : null,
    }),
  ).toBe(once);
});
