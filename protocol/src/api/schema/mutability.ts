// protocol, api/schema: marks and CEL rules for changes of fields after creation. Imports TypeBox alone.
import { IsOptional, Type, type TInteger, type TObject, type TProperties, type TSchema, type TString } from 'typebox';
import {
  extend,
  mutabilityKey,
  rule,
  rulesKey,
  rulesOf,
  withRules,
  type Mutability,
  type Rule,
  type StructOptions,
  struct,
} from './scalars.ts';

/** Marks a field that may change at any time. */
export function mutable<S extends TSchema>(schema: S): S {
  return extend(schema, { [mutabilityKey]: 'Mutable' satisfies Mutability });
}

/** Marks a field that keeps its first value. `path` is the field's name in messages. */
export function immutable<S extends TSchema>(path: string, schema: S): S {
  const kept = withRules(schema, rule('self == oldSelf', `${path} is immutable; create a new object to change it`));
  return extend(kept, { [mutabilityKey]: 'Immutable' satisfies Mutability });
}

/** Marks a number that may only grow. */
export function upward(path: string, schema: TInteger): TInteger {
  const grown = withRules(
    schema,
    rule('self >= oldSelf', `${path} may only be raised`, `'${path} may only be raised; give at least %d, not %d'.format([oldSelf, self])`),
  );
  return extend(grown, { [mutabilityKey]: 'Upward' satisfies Mutability });
}

/** Marks a decimal string that may only grow; what it holds must be a quantity. */
export function upwardDecimal(path: string, schema: TString): TString {
  const grown = withRules(
    schema,
    rule(
      '!isQuantity(self) || !isQuantity(oldSelf) || quantity(self).compareTo(quantity(oldSelf)) >= 0',
      `${path} may only be raised`,
      `'${path} may only be raised; give at least %s, not %s'.format([oldSelf, self])`,
    ),
  );
  return extend(grown, { [mutabilityKey]: 'Upward' satisfies Mutability });
}

/** Marks a choice that may only move to a later one of `order`. */
export function escalating<S extends TSchema>(path: string, order: readonly string[], schema: S): S {
  const rank = `{${order.map((value, index) => `'${value}': ${index}`).join(', ')}}`;
  const risen = withRules(
    schema,
    rule(
      `${rank}[self] >= ${rank}[oldSelf]`,
      `${path} may only move forward through ${order.join(', ')}`,
      `'${path} is ' + oldSelf + ' and may only move forward through ${order.join(', ')}, not back to ' + self`,
    ),
  );
  return extend(risen, { [mutabilityKey]: 'Escalating' satisfies Mutability });
}

/** The rule of a schema about changes; undefined where it has none. */
export function mutabilityOf(schema: object): Mutability | undefined {
  return (schema as { [mutabilityKey]?: Mutability })[mutabilityKey];
}

/**
 * A rule on a field does not run when the field appears or disappears, so the object around it guards that:
 * an immutable field neither comes nor goes, an upward bound goes (then the next wider bound holds) but never comes.
 */
function presenceRules(path: string, properties: TProperties): readonly Rule[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (!IsOptional(schema)) return [];
    const field = `${path}.${name}`;
    const mark = mutabilityOf(schema);
    if (mark === 'Immutable') {
      const message = `${field} is immutable and can be neither added nor removed; create a new object to change it`;
      return [rule(`has(self.${name}) == has(oldSelf.${name})`, message)];
    }
    if (mark === 'Upward') {
      const message = `${field} cannot be added later, which would lower it; leave it out`;
      return [rule(`!has(self.${name}) || has(oldSelf.${name})`, message)];
    }
    return [];
  });
}

/** An object whose members carry marks of this file. `path` is its name in messages. */
export function guarded<P extends TProperties>(description: string, path: string, properties: P, options: StructOptions = {}): TObject<P> {
  const schema = struct(description, properties, options);
  const rules = [...rulesOf(schema), ...presenceRules(path, properties)];
  return rules.length === 0 ? schema : extend(schema, { [rulesKey]: rules });
}

/** An optional field; the mark is copied with it. */
export const optional = Type.Optional;
