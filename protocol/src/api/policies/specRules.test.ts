import { describe, expect, it } from 'vitest';
import type { Kind } from '../crd/definition.ts';
import { customResourceDefinition } from '../crd/definition.ts';
import { agentTask } from '../agenttask/index.ts';
import {
  atomicList,
  guarded,
  immutable,
  integer,
  listByKey,
  mutable,
  optional,
  rule,
  struct,
  text,
  upward,
  withRules,
} from '../schema/index.ts';
import { policies, policyManifests } from './index.ts';
import { specRules } from './specRules.ts';

const name = text('Name.', { max: 9 });
const kindOf = (fields: Parameters<typeof guarded>[2]): Kind => ({
  ...agentTask,
  rules: [rule("self.metadata.name != 'self'", 'metadata.name must be another')],
  spec: guarded('Spec.', 'spec', fields),
});
const expressionsOf = (kind: Kind): Readonly<Record<string, string>> =>
  Object.fromEntries((specRules(kind).variables ?? []).map(({ name: of, expression }) => [of, expression]));

describe('rules of a spec as a policy', () => {
  it('are judged once where the field never changes, and at each write where it does', () => {
    const inner = struct('Inner.', { size: optional(withRules(integer('Size.', 0, 9), rule('self != 7', 'spec.x.size must not be 7'))) });
    const of = expressionsOf(
      kindOf({
        fixed: immutable('spec.fixed', inner),
        free: optional(mutable(inner)),
        bound: upward('spec.bound', integer('Bound.', 0, 9)),
      }),
    );
    expect(of).toMatchObject({
      whole: `(!(object.metadata.name != 'self') ? ["metadata.name must be another"] : [])`,
      fixed:
        '(oldObject == null ? (has(object.spec.fixed.size) && !(object.spec.fixed.size != 7) ? ["spec.x.size must not be 7"] : []) : ' +
        '(!(object.spec.fixed == oldObject.spec.fixed) ? ["spec.fixed is immutable; create a new object to change it"] : []))',
      free: '(has(object.spec.free) && has(object.spec.free.size) && !(object.spec.free.size != 7) ? ["spec.x.size must not be 7"] : [])',
      bound: `(oldObject == null ? [] : (!(object.spec.bound >= oldObject.spec.bound) ? ['spec.bound may only be raised; give at least %d, not %d'.format([oldObject.spec.bound, object.spec.bound])] : []))`,
      failed: 'variables.whole + variables.fixed + variables.free + variables.bound',
    });
  });

  it('name the element of a list by its key', () => {
    const item = struct('Item.', { name }, { rules: [rule("self.name != 'a'", 'spec.list[].name must not be a')] });
    expect(expressionsOf(kindOf({ list: optional(mutable(listByKey('List.', 'name', item, { max: 2 }))) }))['list']).toBe(
      `(has(object.spec.list) ? object.spec.list.filter(each, !(each.name != 'a')).map(each, "spec.list[" + each.name + "].name must not be a") : [])`,
    );
  });

  it('cannot be made of what a policy cannot say', () => {
    const unnamed = atomicList('List.', withRules(name, rule("self != 'a'", 'spec.list[] must not be a')), { max: 2 });
    const change = listByKey('List.', 'name', struct('Item.', { name, size: immutable('spec.list[].size', integer('Size.', 0, 9)) }), {
      max: 2,
    });
    expect(() => specRules(kindOf({ list: mutable(unnamed) }))).toThrow('rules of the elements of spec.list need a key');
    expect(() => specRules(kindOf({ list: mutable(change) }))).toThrow('a rule over a change cannot stand below a list: spec.list[].size');
  });

  it('are in no schema of a kind that has them in a policy', () => {
    expect(JSON.stringify(customResourceDefinition(agentTask))).not.toContain('x-kubernetes-validations');
    const { rulesInPolicy: _, ...inSchema } = agentTask;
    expect(JSON.stringify(customResourceDefinition(inSchema)).match(/x-kubernetes-validations/g)?.length).toBeGreaterThan(40);
  });
});

it.each(policies.map((policy) => [policy.name, policy] as const))(
  'what the policy %s matches leaves nothing for the API server to set',
  (_, policy) => {
    const { matchConstraints } = policyManifests(policy)[0]['spec'] as { matchConstraints: { resourceRules: object[] } };
    expect(Object.keys(matchConstraints).sort()).toEqual(['matchPolicy', 'namespaceSelector', 'objectSelector', 'resourceRules']);
    expect(matchConstraints.resourceRules).toEqual([expect.objectContaining({ scope: '*' })]);
  },
);

it('a policy that only warns refuses nothing; every other one does', () => {
  const actions = policies.map((policy) => [
    policy.name,
    (policyManifests(policy)[1]['spec'] as { validationActions: string[] }).validationActions,
  ]);
  const warning = Object.entries(Object.fromEntries(actions) as Record<string, string[]>).filter(([, of]) => of.includes('Warn'));
  expect(warning).toEqual([['expertpool-in-use', ['Warn']]]);
});
