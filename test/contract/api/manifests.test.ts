// The manifests in `examples/` and of `docs/`, as users apply them: strict, and nothing in them is changed or dropped by the API server.
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collection, connect, createNamespace, enabled, install, type Server } from './server.ts';

interface Manifest {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Record<string, unknown>;
}

const folder = fileURLToPath(new URL('../../../examples/', import.meta.url));
const pages = fileURLToPath(new URL('../../../docs/', import.meta.url));
const plurals: Readonly<Record<string, string>> = {
  AgentTask: 'agenttasks',
  ExpertPool: 'expertpools',
  EnergyModel: 'energymodels',
  PoolGrant: 'poolgrants',
  RolloutPolicy: 'rolloutpolicies',
  ExpertScale: 'expertscales',
};

async function examples(): Promise<readonly Manifest[]> {
  const all: Manifest[] = [];
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.yaml'));
  for (const file of files) all.push(...(loadAll(await readFile(folder + file, 'utf8')) as Manifest[]));
  return all.filter(({ kind }) => plurals[kind] !== undefined);
}

/** Whole manifests of pages; parts of one have no kind and name. */
async function ofPages(): Promise<readonly Manifest[]> {
  const all: Manifest[] = [];
  for (const file of (await readdir(pages, { recursive: true })).filter((name) => name.endsWith('.md')))
    for (const [, text = ''] of (await readFile(pages + file, 'utf8')).matchAll(/^```ya?ml\n([\s\S]*?)^```/gm))
      all.push(...(loadAll(text) as (Manifest | null)[]).filter((one) => one !== null));
  return all.filter(
    ({ apiVersion, kind, metadata }) => apiVersion !== undefined && plurals[kind] !== undefined && metadata?.name !== undefined,
  );
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

  it.for([...(await examples()), ...(await ofPages())])('$kind $metadata.name is taken as it is', async (manifest) => {
    // Two examples may be different ways to make one object.
    const path = `${collection(namespace, plurals[manifest.kind]!)}?fieldValidation=Strict&dryRun=All`;
    const body = { ...manifest, metadata: { name: manifest.metadata.name } };
    const answer = await server.ask('POST', path, { body });
    expect(answer.body.message).toBeUndefined();
    expect(answer.body.spec).toMatchObject(manifest.spec!);
  });
});
