import type { Static } from 'typebox';
import { choice, integer, listByKey, maxSafeInteger, optional, struct, text, timestamp } from '../schema/index.ts';

/** `metav1.ObjectMeta` as far as the parts read it; times are RFC 3339 strings. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** `metav1.OwnerReference`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** A custom resource of our group. */
export interface Resource<Kind extends string, Spec, Status> {
  readonly apiVersion: 'agentfleet.dev/v1alpha1';
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status;
}

/** `metav1.Condition`. */
export const Condition = struct('One aspect of the state.', {
  type: text('Aspect in CamelCase, for example Ready.', { max: 316, min: 1, pattern: '^[A-Za-z][A-Za-z0-9./-]*$' }),
  status: choice('Whether it holds.', ['True', 'False', 'Unknown']),
  observedGeneration: optional(integer('Generation of the object that this was computed from.', 0, maxSafeInteger)),
  lastTransitionTime: timestamp('Time at which status last changed.'),
  reason: text('Reason in CamelCase, for programs.', { max: 1024, min: 1, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' }),
  message: text('Reason in words, for people.', { max: 1024 }),
});
export type Condition = Static<typeof Condition>;

/** The conditions of a status: a map by type, so that two managers may each keep their own. */
export const conditions = listByKey('Aspects of the state, one entry for each type.', 'type', Condition, { max: 16 });

/** `status.observedGeneration`. */
export const observedGeneration = integer('Generation of the spec that this status answers.', 0, maxSafeInteger);
