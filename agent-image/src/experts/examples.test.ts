import { readFile, readdir } from 'node:fs/promises';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { loadAll } from 'js-yaml';
import { expect, test } from 'vitest';
import { domainOf } from '../features/languages.ts';
import { chooseExpert } from './client.ts';

const folder = new URL('../../../examples/', import.meta.url);
/** Requests of a worker: the domain of a file, or of none. */
const files = ['a.py', 'a.js', 'a.ts', 'a.go', 'a.rs', 'a.java', 'a.rb', 'a.c', 'a.sh', 'a.yaml'];
const domains = files.map((file) => domainOf(file) ?? '*');

interface Pool {
  readonly kind: string;
  readonly spec: { readonly experts: readonly { readonly name: string; readonly role: string; readonly domains?: readonly string[] }[] };
}

test.each((await readdir(folder)).filter((name) => name.endsWith('.yaml')))(
  'every specialist of %s is chosen for something',
  async (name) => {
    for (const { kind, spec } of loadAll(await readFile(new URL(name, folder), 'utf8')) as Pool[]) {
      if (kind !== 'ExpertPool') continue;
      const experts = spec.experts.map((one) => ({ ...one, domains: one.domains ?? [] }) as unknown as ExpertEndpoint);
      const chosen = new Set(domains.map((domain) => chooseExpert(experts, domain).name));
      const never = spec.experts.filter(({ role, name: own }) => role === 'Specialist' && !chosen.has(own));
      expect(never.map(({ name: own }) => own)).toEqual([]);
    }
  },
);
