// The definitions of this version over those of an older one, on a real API server: stored objects are still read and
// written, handwritten ones are accepted, or refused by field and accepted after `fleet migrate`. Under another group,
// because the server has the definitions of all other tests. With pods: test/release.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '@agentfleet/cli';
import { systemClock } from '@agentfleet/kube';
import { execa } from 'execa';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chartFiles } from '../../hack/generate/chart.ts';
import { repository } from '../../hack/images/parts.ts';
import { previousCommit } from '../../hack/release/previous.ts';
import { connect, createNamespace, enabled, until, type Answer, type Server, type Stored } from './api/server.ts';

const group = 'upgrade.contract.example.com';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const apply = 'application/apply-patch+yaml';

const git = async (...args: readonly string[]): Promise<string> => (await execa('git', args, { cwd: repository })).stdout;
/** Objects of our kinds in the group of this test; others are left out. */
const objectsIn = (text: string): readonly Stored[] =>
  (loadAll(text) as (Stored | null)[]).filter((one) => one !== null && one.apiVersion.startsWith('agentfleet.dev/')) as Stored[];
const moved = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('agentfleet.dev', group)) as T;

interface Definition extends Stored {
  readonly spec: { readonly names: { readonly plural: string; readonly kind: string } };
}

describe.runIf(enabled)('definitions over those of an older version', () => {
  let server: Server;
  let namespace: string;
  let folder: string;
  const made = new Set<string>();
  const plurals = new Map<string, string>();
  /** Files of the older version with our objects. */
  const files = new Map<string, readonly Stored[]>();

  const install = async (all: readonly Definition[]): Promise<void> => {
    for (const definition of all.map(moved)) {
      const { name } = definition.metadata;
      const path = `${definitions}/${name}`;
      const { status, body } = await server.ask('PATCH', `${path}?fieldManager=contract&force=true`, { body: definition, type: apply });
      expect(status, `${name}: ${body.message}`).toBeLessThan(300);
      made.add(path);
      plurals.set(definition.spec.names.kind, definition.spec.names.plural);
      const served = async (): Promise<boolean> =>
        (await server.ask('GET', `${collectionOf(definition.spec.names.kind)}?limit=1`)).status === 200;
      await until(`${name} is served`, served);
    }
  };
  const collectionOf = (kind: string): string => `/apis/${group}/v1alpha1/namespaces/${namespace}/${plurals.get(kind)}`;
  const manifests = async (paths: readonly string[], read: (path: string) => Promise<string>): Promise<readonly Definition[]> =>
    (await Promise.all(paths.map(async (path) => loadAll(await read(path)) as Definition[]))).flat();
  /** Sends it like a GitOps tool, as a dry run. */
  const offer = (object: Stored): Promise<Answer> => {
    const body = moved({ ...object, metadata: { ...object.metadata, namespace } });
    const query = 'fieldManager=gitops&force=true&fieldValidation=Strict&dryRun=All';
    return server.ask('PATCH', `${collectionOf(object.kind)}/${object.metadata.name}?${query}`, { body, type: apply });
  };
  const migrate = async (file: string): Promise<string> => {
    const said: string[] = [];
    const out = (text: string): void => void said.push(text);
    const world = {
      env: {},
      clock: systemClock,
      random: Math.random,
      terminal: false,
      signal: new AbortController().signal,
      out,
      err: out,
    };
    expect(await run(['migrate', file], world), said.join('')).toBe(0);
    return said.join('');
  };

  beforeAll(async () => {
    server = await connect();
    namespace = await createNamespace(server);
    folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
    const list = async (under: string): Promise<readonly string[]> =>
      (await git('ls-tree', '-r', '--name-only', previousCommit, under)).split('\n').filter((path) => path.endsWith('.yaml'));
    const old = (path: string): Promise<string> => git('show', `${previousCommit}:${path}`);
    await install(await manifests(await list('charts/agentfleet/files/crds'), old));
    for (const path of await list('examples')) {
      const text = await old(path);
      const objects = objectsIn(text);
      if (objects.length === 0) continue;
      files.set(path, objects);
      await writeFile(join(folder, path.replaceAll('/', '-')), text);
    }
    for (const object of [...files.values()].flat()) {
      const body = moved({ ...object, metadata: { ...object.metadata, namespace } });
      const { status, body: answer } = await server.ask('POST', `${collectionOf(object.kind)}?fieldValidation=Strict`, { body });
      // Some are in two files.
      expect([201, 409], `${object.kind} ${object.metadata.name}: ${answer.message}`).toContain(status);
    }
    const now = [...chartFiles()].filter(([path]) => /\/agentfleet-crds\/.*[.]yaml$/.test(path)).map(([, text]) => text);
    await install(now.flatMap((text) => loadAll(text) as Definition[]));
    // The API does not show when a changed schema is in force.
    const pool = [...files.values()].flat().find(({ kind, spec }) => kind === 'ExpertPool' && spec['rollout'] !== undefined);
    await until('the new definitions are in force', async () => (await offer(pool!)).body.message?.includes('rollout') === true);
  });
  afterAll(async () => {
    await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    for (const path of made) await server.ask('DELETE', path);
    await rm(folder, { recursive: true });
  });

  it('read stored objects, and accept changes of their labels and status', async () => {
    const refused: string[] = [];
    for (const { kind, metadata } of [...files.values()].flat()) {
      const path = `${collectionOf(kind)}/${metadata.name}`;
      const type = 'application/merge-patch+json';
      const answers = [
        await server.ask('GET', path),
        await server.ask('PATCH', path, { body: { metadata: { labels: { seen: 'yes' } } }, type }),
        ...(kind === 'PoolGrant'
          ? []
          : [await server.ask('PATCH', `${path}/status`, { body: { status: { observedGeneration: 1 } }, type })]),
      ];
      for (const { status, body } of answers) if (status !== 200) refused.push(`${kind} ${metadata.name}: ${body.message}`);
    }
    expect(refused).toEqual([]);
    expect(files.size).toBeGreaterThan(5);
  });

  it('accept manifests of the older version, or name the field, and then accept the output of fleet migrate', async () => {
    const rewritten: string[] = [];
    for (const [path, objects] of files) {
      const answers = await Promise.all(objects.map(offer));
      const refused = answers.filter(({ status }) => status > 201);
      if (refused.length === 0) continue;
      for (const { body } of refused) expect(body.message).toMatch(/spec\.[a-zA-Z]+/);
      const file = join(folder, path.replaceAll('/', '-'));
      await migrate(file);
      for (const object of objectsIn(await readFile(file, 'utf8'))) {
        const { status, body } = await offer(object);
        expect(status, `${path}: ${object.kind} ${object.metadata.name}: ${body.message}`).toBeLessThan(300);
      }
      rewritten.push(path);
    }
    expect(rewritten).toContain('examples/golden.yaml');
  });
});
