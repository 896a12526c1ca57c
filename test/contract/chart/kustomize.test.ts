// The base of Kustomize is the chart with its default values, and an overlay of it is taken by a real API server.
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { load, loadAll } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { up, type Cluster } from '../../../hack/cluster/index.ts';
import { namespace, operatorFile, operatorManifests } from '../../../hack/generate/kustomize.ts';
import { Kubectl } from '../../../hack/sandbox/index.ts';
import { render, type Manifest } from './rendered.ts';

const folder = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

let cluster: Cluster;
const built = async (path: string): Promise<readonly Manifest[]> =>
  loadAll((await execa(cluster.bin('kubectl'), ['kustomize', folder(path)])).stdout) as Manifest[];
const namesOf = (manifests: readonly Manifest[]): readonly string[] =>
  manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();

beforeAll(async () => {
  cluster = await up({ tier: 'control-plane', log: () => undefined });
});

describe('the base of Kustomize', () => {
  it('equals the rendered chart; else: node hack/bootstrap.mjs hack/generate/kustomize.ts', async () => {
    expect(await readFile(operatorFile, 'utf8')).toBe(await operatorManifests(cluster.bin('helm')));
  });

  it('has all objects of the chart, and a namespace, without those that only Helm runs', async () => {
    const hooks = (await render(cluster.bin('helm'), namespace)).filter(
      ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined,
    );
    expect(namesOf(await built('charts/kustomize'))).toEqual([...namesOf(hooks), `Namespace ${namespace}`].toSorted());
  });

  it.each(['charts/agentfleet-crds/files', 'files/policies'])('names every file of %s', async (name) => {
    const path = folder(`charts/agentfleet/${name}`);
    const { resources } = load(await readFile(`${path}/Kustomization`, 'utf8')) as { readonly resources: readonly string[] };
    expect(resources).toEqual((await readdir(path)).filter((file) => file.endsWith('.yaml')).toSorted());
  });

  it('is taken by an API server with the images of an overlay', async () => {
    const overlay = await built('examples/gitops/kustomize');
    const text = JSON.stringify(overlay);
    expect(text).not.toContain('"agentfleet/');
    for (const image of ['operator', 'agent', 'inference', 'sandbox', 'tools']) expect(text).toContain(`/agentfleet/${image}:0.1.0`);
    // Objects in a missing namespace cannot be tried; here they are tried in the namespace default.
    const tried = overlay.filter(({ kind }) => kind !== 'Namespace' && kind !== 'CustomResourceDefinition');
    const items = JSON.parse(JSON.stringify(tried).replaceAll(`"namespace":"${namespace}"`, '"namespace":"default"')) as object[];
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '--force-conflicts', '-f', '-'];
    const said = await new Kubectl(cluster).text(args, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    expect(said.trim().split('\n')).toHaveLength(tried.length);
  });
});
