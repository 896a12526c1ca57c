import type { TSchema } from 'typebox';
import type { Rule } from '../schema/index.ts';

/** A column of `kubectl get`; priority 1 shows it with `-o wide` only. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date' | 'boolean';
  readonly jsonPath: string;
  readonly description: string;
  readonly priority?: 1;
}

/** One of our kinds: everything that its CRD, its validators and its reference page are made from. */
export interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly description: string;
  readonly spec: TSchema;
  /** Absent: nobody reports about it. */
  readonly status?: TSchema;
  /** Rules over the whole object; they alone see `metadata.name`. */
  readonly rules: readonly Rule[];
  readonly columns: readonly Column[];
  /** Fields that list and watch may select by, at most 8. */
  readonly selectable: readonly string[];
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string; readonly labelSelectorPath: string };
}

/** Names of tasks and pools become label values, which hold 63 characters. */
export const nameFitsLabel: Rule = {
  rule: 'self.metadata.name.size() <= 63',
  message: 'metadata.name may have 63 characters, because it becomes the value of labels; shorten it',
};

/** The age column, which every kind has. */
export const ageColumn: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation.',
};

/** A column with the status or the reason of a condition. */
export function conditionColumn(name: string, condition: string, member: 'status' | 'reason' | 'message', priority?: 1): Column {
  return {
    name,
    type: 'string',
    jsonPath: `.status.conditions[?(@.type=="${condition}")].${member}`,
    description: `The ${member} of the condition ${condition}.`,
    ...(priority === undefined ? {} : { priority }),
  };
}
