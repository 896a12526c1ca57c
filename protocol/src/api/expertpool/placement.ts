import type { Static } from 'typebox';
import { placementModes } from '../base/placement.ts';
import { choice, labelName, listByKey, optional, rule, setOf, struct, text } from '../schema/index.ts';

const Apart = struct('Who shares no GPU with an expert.', {
  expert: labelName('The expert.'),
  from: setOf(
    'Names of experts; EnergyModel: the verifier of the pool; *: everybody, other pools too.',
    text('A name.', { max: 63, min: 1, pattern: '^([*]|EnergyModel|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$' }),
    { max: 16, min: 1 },
  ),
});

/** `spec.placement`. It concerns experts whose resources have a slot or memory of a GPU. */
export const PoolPlacement = struct('Way by which experts get their GPUs.', {
  mode: choice('Auto: the first of DRA, Reservation and WholeGPU that can be used.', ['Auto', ...placementModes], 'Auto'),
  nvlink: choice(
    'Whether a draft and its target have to be joined by NVLink; Ignore: how GPUs are joined counts nothing.',
    ['Preferred', 'Required', 'Ignore'],
    'Preferred',
  ),
  antiAffinity: optional(listByKey('Pairs of experts that share no GPU.', 'expert', Apart, { max: 16 })),
});
export type PoolPlacement = Static<typeof PoolPlacement>;

/** Rules of the spec about its placement. */
export const placementRules = [
  rule(
    '!has(self.placement) || !has(self.placement.antiAffinity) || self.placement.antiAffinity.all(apart, self.experts.exists(expert, expert.name == apart.expert))',
    'spec.placement.antiAffinity[].expert must be the name of an entry of spec.experts; correct the name',
  ),
];
