/** GPUs of engines: what ExpertPool and EnergyModel say alike. */
import type { Static } from 'typebox';
import { atomicList, choice, flag, integer, maxSafeInteger, objectName, optional, rule, struct, text, withRules } from '../schema/index.ts';

/** `<node>/gpu<n>`: a GPU by the name that the operator gave it once; `<node>/gpu<n>-2g.10gb-<i>`: a MIG slice of it. */
const slotPattern =
  '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/gpu(0|[1-9][0-9]{0,2})' +
  '(-([1-9]c[.])?[1-9][0-9]?g[.][1-9][0-9]{0,3}gb(-[a-z][a-z.]{0,14}[a-z])?-(0|[1-9][0-9]?))?$';

/** A GPU, or a MIG slice of one, by its name. */
export function slotName(description: string) {
  return text(
    `${description} Names: <node>/gpu0 and so on, or <node>/gpu0-2g.10gb-0; the ConfigMap agentfleet-slots of the operator has them.`,
    {
      max: 300,
      min: 6,
      pattern: slotPattern,
    },
  );
}

const budgetPattern = '^(Auto|[0-9]{1,15}([.][0-9]{1,9})?(k|M|G|T|Ki|Mi|Gi|Ti)?)$';

/** Memory of an engine on its GPU. `path` is the field's name in messages. */
export function gpuMemory(path: string) {
  return struct(
    'Memory of the engine on each of its GPUs, for each of its pods.',
    {
      budget: withRules(
        text('Bytes such as 9Gi, which engines and neighbours hold to; Auto: what its weights, tokens and activations need.', {
          max: 30,
          min: 1,
          pattern: budgetPattern,
          default: 'Auto',
        }),
        rule(
          "self == 'Auto' || (isQuantity(self) && quantity(self).compareTo(quantity('1Mi')) >= 0 && quantity(self).compareTo(quantity('1Ti')) <= 0)",
          `${path}.budget must be Auto or between 1Mi and 1Ti; write an amount of bytes such as 9Gi`,
        ),
      ),
      kvTokens: optional(integer('With budget Auto: tokens whose keys and values fit at once.', 1, 100_000_000)),
    },
    {
      rules: [
        rule(
          "self.budget == 'Auto' || !has(self.kvTokens)",
          `${path}.kvTokens must be set beside the budget Auto only; remove it, or set ${path}.budget to Auto`,
        ),
      ],
    },
  );
}

/** Ways in which engines get at their GPUs, the best first. */
export const placementModes = ['DRA', 'Reservation', 'WholeGPU'] as const;

/** Reasons that an engine is not on a slot. */
export const obstacleReasons = [
  'NotEnoughMemory',
  'Unhealthy',
  'NotAllowed',
  'Exclusive',
  'Apart',
  'NotLinked',
  'NotJoined',
  'UnknownSlot',
  'GroupElsewhere',
  'SizeUnknown',
  'NotDivisible',
  'DraftVocabulary',
  'HeldElsewhere',
] as const;

const AssignmentState = struct('An engine on a GPU; one that spans several is there once for each.', {
  item: objectName('The expert, or the model.'),
  slot: slotName('The slot that it has.'),
  uuid: optional(text('The GPU that the name stands for.', { max: 253 })),
  bytes: integer('Memory that it has there, with all its pods.', 1, maxSafeInteger),
  slotBytes: optional(integer('Memory of the slot that engines may have together.', 1, maxSafeInteger)),
  claim: optional(objectName('The ResourceClaim that its pods name.')),
  holder: optional(text('The uid of the pod that reserves the GPU (mode Reservation); without it the engine waits.', { max: 63, min: 1 })),
  admitted: flag('Whether its pods may start: engines of one GPU start one after another.'),
});

const RejectionState = struct('A place that an engine did not get.', {
  item: objectName('The expert, or the model.'),
  slot: optional(slotName('The slot that it could not get.')),
  reason: choice('Why not.', obstacleReasons),
  shortByBytes: optional(integer('Bytes that the slot lacks beside its tenants.', 1, maxSafeInteger)),
});

/** Places of the engines of a pool or a model. */
export const PlanStatus = struct(
  'Places of engines on GPUs. The condition PlacementFeasible says which better modes could not be used, and why.',
  {
    mode: optional(choice('Way by which engines get their GPUs; left out: no mode can be used.', placementModes)),
    assignments: atomicList('Engines with their slots.', AssignmentState, { max: 64 }),
    rejected: optional(atomicList('Engines with slots that they could not get.', RejectionState, { max: 64 })),
  },
);
export type PlanStatus = Static<typeof PlanStatus>;
