import type { Static } from 'typebox';
import { decimal, integer, labelName, listByKey, rule, struct } from '../schema/index.ts';

/** `spec.profiles[].compute`: when more is computed. */
export const Compute = struct(
  'Number of candidates that are compared, and the measures at which more computation is worth its price.',
  {
    entropyFastNats: decimal('Entropy of the proposals below which the fast path is taken, nats.', '2.5'),
    margin: decimal('Energy gap of the two best proposals above which the fast path is taken, nats.', '1.5'),
    kBase: integer('Candidates that are compared otherwise.', 1, 64, 2),
    kMax: integer('Most candidates that are ever compared.', 1, 64, 8),
  },
  {
    filled: true,
    rules: [rule('self.kBase <= self.kMax', 'spec.profiles[].compute.kBase must not be more than spec.profiles[].compute.kMax; lower it')],
  },
);
export type Compute = Static<typeof Compute>;

/** One profile of a pool. */
export const Profile = struct('A named way to compute; tasks name it in spec.profile.', {
  name: labelName('Name; the one called default serves tasks that name none.'),
  compute: Compute,
});
export type Profile = Static<typeof Profile>;

/** `spec.profiles`. */
export const profiles = listByKey('Ways to compute; default: one called default.', 'name', Profile, { max: 16 });

/** Parameters with which a pool without a profile of that name computes. */
export const defaultCompute: Compute = {
  entropyFastNats: '2.5',
  margin: '1.5',
  kBase: 2,
  kMax: 8,
};
