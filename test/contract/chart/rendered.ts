import { execa } from 'execa';
import { loadAll } from 'js-yaml';
import { chartValues, chart, release } from '../../../hack/install/index.ts';

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The fields of a manifest that tests read. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly Rule[];
  readonly spec?: { readonly template?: { readonly metadata: object; readonly spec: PodSpec } };
}

export interface PodSpec {
  readonly containers: readonly {
    readonly image: string;
    readonly env: readonly { readonly name: string; readonly value?: string }[];
  }[];
}

export const image = (name: string): string => `localhost/agentfleet/${name}:test`;

/** The chart's manifests as helm renders them. Rejects with helm's words when a value is refused. */
export async function render(
  helm: string,
  namespace: string,
  values: Readonly<Record<string, unknown>> = {},
): Promise<readonly Manifest[]> {
  return manifests(await template(helm, namespace, { ...chartValues({ image }), ...values }));
}

/** `helm template` with these values and no others. */
export async function template(helm: string, namespace: string, values: object): Promise<string> {
  const args = ['template', release, chart, `--namespace=${namespace}`, '--values=-'];
  return (await execa(helm, args, { input: JSON.stringify(values) })).stdout;
}

function manifests(text: string): readonly Manifest[] {
  return (loadAll(text) as (Manifest | null)[]).filter((manifest) => manifest !== null);
}

/** The only manifest of this kind and name. */
export function one(all: readonly Manifest[], kind: string, name: string): Manifest {
  const found = all.filter((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} manifests ${kind}/${name}`);
  return found[0];
}

/** Reports whether the rules of a role allow a verb on one of our resources. */
export function allows(role: Manifest, verb: string, resource: string, group = 'agentfleet.dev'): boolean {
  const has = (list: readonly string[] | undefined, value: string): boolean =>
    list?.some((item) => item === value || item === '*') === true;
  return role.rules?.some((rule) => has(rule.apiGroups, group) && has(rule.resources, resource) && has(rule.verbs, verb)) === true;
}
