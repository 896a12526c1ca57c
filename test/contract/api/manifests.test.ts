// The manifests in `examples/`, as users apply them: strict, and nothing in them is changed or dropped by the API server.
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collection, connect, createNamespace, enabled, install, type Server } from './server.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Record<string, unknown>;
}

const folder = fileURLToPath(new URL('../../../examples/', import.meta.url));
const plurals: Readonly<Record<string, string>> = {
  AgentTask: 'agenttasks',
  ExpertPool: 'expertpools',
  EnergyModel: 'energymodels',
  PoolGrant: 'poolgrants',
  RolloutPolicy: 'rolloutpolicies',
};

async function examples(): Promise<readonly Manifest[]> {
  const all: Manifest[] = [];
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.yaml'));
  for (const file of files) all.push(...(loadAll(await readFile(folder + file, 'utf8')) as Manifest[]));
  return all.filter(({ kind }) => plurals[kind] !== undefined);
}

describe.runIf(enabled)('the examples', async () => {
  let server: Server;
  let namespace: string;
  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
  });
  afterAll(() => server.ask('DELETE', `/api/v1/namespaces/${namespace}`));

  it.for(await examples())('$kind $metadata.name is taken as it is', async (manifest) => {
    // Two examples may be different ways to make one object.
    const path = `${collection(namespace, plurals[manifest.kind]!)}?fieldValidation=Strict&dryRun=All`;
    const body = { ...manifest, metadata: { name: manifest.metadata.name } };
    const answer = await server.ask('POST', path, { body });
    expect(answer.body.message).toBeUndefined();
    expect(answer.body.spec).toMatchObject(manifest.spec!);
  });
});
