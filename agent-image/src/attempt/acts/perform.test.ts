import type { AgentTask } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import { createRails, installedGrammars, loadGrammars } from '../../rails/index.ts';
import { createGate } from '../gate.ts';
import { onlyOnce } from './perform.ts';

const rails = createRails({ grammars: await loadGrammars(installedGrammars()), home: '/home/agent' });
const policy = { profile: 'Privileged', network: { mode: 'Allowed' } };
const task = { spec: { policy, protect: { mode: 'Default' } } } as unknown as AgentTask;
const gate = createGate({ rails, task, roots: ['/workspace'], absolute: (path) => `/workspace/${path}` }, null);

test.each([
  ['make build', false, false],
  ['make build', true, true],
  ['git commit -qam x && git push origin main', false, true],
  ['kubectl apply -f app.yaml', false, true],
])('%s, allowed by a person: %s, is run only once: %s', (command, approved, once) => {
  expect(
    onlyOnce(gate, {
      acts: [
        { tool: 'Shell', command: 'true' },
        { tool: 'Shell', command },
      ],
      approved,
    }),
  ).toBe(once);
});
