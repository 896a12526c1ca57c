/** Conditions, and what others read from them. Imports api, runtime. */
export {
  type Condition,
  type ConditionStatus,
  type NewCondition,
  findCondition,
  isTrue,
  mergeConditions,
  type Kstatus,
  type WithConditions,
  conditionFaults,
  kstatus,
} from './conditions.ts';
