/**
 * ExpertScale: how many pods serve one expert of a pool, as an object that autoscalers write by its subresource `scale`.
 * Part of `api`: may import the layers right of `api` in docs/architecture.md.
 */
import type { Static } from 'typebox';
import { ageColumn, conditionColumn, type Kind } from '../crd/definition.ts';
import { conditions, observedGeneration, type Resource } from '../base/meta.ts';
import { immutable, integer, labelName, optional, reference, struct, text } from '../schema/index.ts';

/** `ExpertScale.spec`. */
export const ExpertScaleSpec = struct('Whom it scales, and how many pods are asked for.', {
  poolRef: immutable('spec.poolRef', reference('The ExpertPool of the namespace.')),
  expert: immutable('spec.expert', labelName('The expert of the pool that has pods of its own.')),
  replicas: integer(
    'Pods that are asked for; they take the place of spec.experts[].replicas of the pool. Left to an autoscaler.',
    0,
    100,
    1,
  ),
});
export type ExpertScaleSpec = Static<typeof ExpertScaleSpec>;

/** `ExpertScale.status`. */
export const ExpertScaleStatus = struct('What has become of it.', {
  observedGeneration: optional(observedGeneration),
  conditions: optional(conditions),
  granted: optional(integer('Pods that the pool runs: as many as were asked for, or as have room on GPUs.', 0, 100)),
  replicas: integer('Pods that exist.', 0, 1000),
  ready: integer('Pods that answer.', 0, 1000),
  selector: text('Label selector that finds the pods.', { max: 512 }),
});
export type ExpertScaleStatus = Static<typeof ExpertScaleStatus>;

/** An ExpertScale as the API server returns it. */
export type ExpertScale = Resource<'ExpertScale', ExpertScaleSpec, ExpertScaleStatus>;

export const expertScale: Kind = {
  kind: 'ExpertScale',
  plural: 'expertscales',
  shortName: 'afs',
  description: 'Number of pods that serve an expert of a pool, written by HorizontalPodAutoscalers, KEDA and kubectl scale.',
  spec: ExpertScaleSpec,
  status: ExpertScaleStatus,
  rules: [],
  columns: [
    { name: 'Pool', type: 'string', jsonPath: '.spec.poolRef.name', description: 'The pool.' },
    { name: 'Expert', type: 'string', jsonPath: '.spec.expert', description: 'The expert.' },
    { name: 'Asked', type: 'integer', jsonPath: '.spec.replicas', description: 'Pods that are asked for.' },
    { name: 'Granted', type: 'integer', jsonPath: '.status.granted', description: 'Pods that the pool runs.' },
    { name: 'Answer', type: 'integer', jsonPath: '.status.ready', description: 'Pods that answer.' },
    conditionColumn('Ready', 'Ready', 'status'),
    ageColumn,
    conditionColumn('Reason', 'Ready', 'reason', 1),
    conditionColumn('Message', 'Ready', 'message', 1),
  ],
  selectable: [],
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' },
};
