// `node hack/bootstrap.mjs hack/generate/kustomize.ts`: writes charts/kustomize/operator.yaml from the chart, which takes helm. The contract
// tests fail when it is stale.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { loadAll } from 'js-yaml';
import { chart, chartValues, release } from '../install/index.ts';
import { registryPrograms } from '../release/registry.ts';
import { yaml } from './crds.ts';

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly labels?: Readonly<Record<string, string>>; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly template?: { readonly metadata?: object } };
}

/** Namespace of the base. */
export const namespace = 'agentfleet-system';

export const operatorFile = fileURLToPath(new URL('../../charts/kustomize/operator.yaml', import.meta.url));

/** Kinds in separate folders, which the base names. */
const apart: ReadonlySet<string> = new Set(['CustomResourceDefinition', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']);
const helmLabels: ReadonlySet<string> = new Set(['app.kubernetes.io/managed-by', 'helm.sh/chart']);

/** Returns an object without Helm's own labels and annotations. Pure. */
function plain<T>(value: T): T {
  if (Array.isArray(value)) return value.map(plain) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (helmLabels.has(key) ? [] : [[key, plain<unknown>(item)]])),
  ) as T;
}

/** Renders the chart for the base: no hooks, which only Helm runs, and images by the names that overlays replace. */
export async function operatorManifests(helm: string): Promise<string> {
  const values = chartValues({ image: (name) => `agentfleet/${name}` });
  const args = ['template', release, chart, `--namespace=${namespace}`, '--no-hooks', '--skip-tests', '--values=-'];
  const { stdout } = await execa(helm, args, { input: JSON.stringify(values) });
  const objects = (loadAll(stdout) as (Rendered | null)[]).filter((one) => one !== null && !apart.has(one.kind));
  return [
    '# Made by `node hack/bootstrap.mjs hack/generate/kustomize.ts` from charts/agentfleet.',
    ...objects.map((one) => `---\n${yaml(plain(one)).trimEnd()}`),
    '',
  ].join('\n');
}

if (import.meta.main) {
  const { helm } = await registryPrograms();
  await writeFile(operatorFile, await operatorManifests(helm));
}
