/**
 * PoolGrant: the consent of a namespace that pools of other namespaces reach into it. As Gateway API's ReferenceGrant.
 * Part of `api`: may import the layers right of `api` in docs/architecture.md.
 */
import type { Static } from 'typebox';
import { ageColumn, type Kind } from '../crd/definition.ts';
import type { Resource } from '../base/meta.ts';
import { atomicList, choice, labelName, objectName, optional, setOf, struct } from '../schema/index.ts';

/** Rights that a namespace can give a pool of another one. */
export const poolRights = ['Warm', 'Default', 'PodMetadata', 'PriorityClass', 'Tolerations'] as const;
export type PoolRight = (typeof poolRights)[number];

const Grantee = struct('Pools of one namespace.', {
  namespace: labelName('Namespace of the pools.'),
  name: optional(objectName('Name of the pool; absent: every pool of that namespace.')),
});

const right = choice(
  'Warm: sandboxes wait here before there are tasks. Default: tasks that name no pool go there. PodMetadata, PriorityClass, Tolerations: the template of the pool may set these on sandboxes here.',
  poolRights,
);

/** `PoolGrant.spec`. Withdrawn by deleting the object. */
export const PoolGrantSpec = struct('Who may reach into this namespace, and how far.', {
  from: atomicList('Pools that are allowed.', Grantee, { min: 1, max: 16 }),
  allow: setOf('Rights that these pools have in the namespace.', right, { min: 1, max: poolRights.length }),
});
export type PoolGrantSpec = Static<typeof PoolGrantSpec>;

/** A PoolGrant as the API server returns it. It has no status: pools report which grant they lack. */
export type PoolGrant = Omit<Resource<'PoolGrant', PoolGrantSpec, never>, 'status'>;

export const poolGrant: Kind = {
  kind: 'PoolGrant',
  plural: 'poolgrants',
  shortName: 'afg',
  description: 'Consent of a namespace to pools of other namespaces; it lies in the namespace that they reach into.',
  spec: PoolGrantSpec,
  rules: [],
  columns: [
    { name: 'From', type: 'string', jsonPath: '.spec.from[*].namespace', description: 'Namespaces of the pools.' },
    { name: 'Allow', type: 'string', jsonPath: '.spec.allow', description: 'Rights that these pools have in the namespace.' },
    ageColumn,
  ],
  selectable: [],
};
