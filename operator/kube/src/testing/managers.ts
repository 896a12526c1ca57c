import { canonical } from '../apply/applier.ts';
import { fieldsTree, leavesOf, overlay, pathText, without, type Path, type Step } from './fields.ts';
import type { Json, Stored } from './json.ts';
import type { KindDefinition } from './kinds.ts';
import { StatusError } from './status.ts';

/** Owner of fields of an object, and those fields. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly subresource: string;
  readonly time: string;
  readonly fields: ReadonlySet<Path>;
}

export type Managers = readonly Manager[];

export type Writer = Omit<Manager, 'fields'>;

const same = (a: Writer, b: Writer): boolean => a.manager === b.manager && a.operation === b.operation && a.subresource === b.subresource;

const minus = (a: ReadonlySet<Path>, b: ReadonlySet<Path>): Set<Path> => new Set([...a].filter((path) => !b.has(path)));

/** Everybody but the writer, without these fields; who owns nothing is dropped. */
function takeFrom(managers: Managers, writer: Writer, fields: ReadonlySet<Path>): Manager[] {
  return managers
    .filter((other) => !same(other, writer))
    .map((other) => ({ ...other, fields: minus(other.fields, fields) }))
    .filter((other) => other.fields.size > 0);
}

/** Ownership after a write that is no apply: the writer owns what changed, and what went has no owner. */
export function afterUpdate(kind: KindDefinition, managers: Managers, writer: Writer, old: Json, next: Json): Managers {
  const before = leavesOf(kind, old);
  const after = leavesOf(kind, next);
  const changed = new Set(
    [...after].filter(([path, value]) => !before.has(path) || canonical(before.get(path)) !== canonical(value)).map(([path]) => path),
  );
  const removed = new Set([...before.keys()].filter((path) => !after.has(path)));
  if (changed.size === 0 && removed.size === 0) return managers;
  const own = managers.find((other) => same(other, writer))?.fields ?? new Set<Path>();
  const fields = minus(new Set([...own, ...changed]), removed);
  const others = takeFrom(managers, writer, new Set([...changed, ...removed]));
  return fields.size === 0 ? others : [...others, { ...writer, fields }];
}

export interface Applied {
  readonly object: Json;
  readonly managers: Managers;
}

/**
 * Server-side apply, simplified: fields merge, what the writer no longer declares and no other manager owns is removed, a
 * field that another manager owns with another value is a conflict unless forced (KEP-555).
 */
export function applyFields(kind: KindDefinition, managers: Managers, writer: Writer, live: Json, declared: Json, force: boolean): Applied {
  const wanted = leavesOf(kind, declared);
  const present = leavesOf(kind, live);
  const differing = new Set([...wanted].filter(([path, value]) => canonical(present.get(path)) !== canonical(value)).map(([path]) => path));
  const others = managers.filter((other) => !same(other, writer));
  if (!force) refuseConflicts(others, differing);
  const fields = new Set(wanted.keys());
  const dropped = minus(managers.find((other) => same(other, writer))?.fields ?? new Set<Path>(), fields);
  let object: unknown = live;
  for (const path of dropped) {
    if (others.some((other) => other.fields.has(path))) continue;
    object = without(kind, object, JSON.parse(path) as Step[]);
  }
  object = overlay(kind, object, declared);
  const left = takeFrom(managers, writer, differing);
  return { object: object as Json, managers: fields.size === 0 ? left : [...left, { ...writer, fields }] };
}

function refuseConflicts(others: Managers, differing: ReadonlySet<Path>): void {
  const causes = others.flatMap((other) =>
    [...other.fields]
      .filter((path) => differing.has(path))
      .map((path) => ({
        reason: 'FieldManagerConflict',
        message: `conflict with ${JSON.stringify(other.manager)}`,
        field: pathText(path),
      })),
  );
  if (causes.length === 0) return;
  const list = causes.map((cause) => `${cause.message}: ${cause.field}`).join('\n');
  throw new StatusError(409, 'Conflict', `Apply failed with ${causes.length} conflict${causes.length === 1 ? '' : 's'}: ${list}`, {
    causes,
  });
}

export function renderManagers(managers: Managers, apiVersion: string): NonNullable<Stored['metadata']['managedFields']> {
  return managers.map(({ manager, operation, subresource, time, fields }) => ({
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: fieldsTree(fields),
    ...(subresource === '' ? {} : { subresource }),
  }));
}

export function equalManagers(a: Managers, b: Managers): boolean {
  const text = (managers: Managers): string =>
    canonical(
      managers
        .map(({ manager, operation, subresource, fields }) => [manager, operation, subresource, [...fields].sort()].join('\0'))
        .sort(),
    );
  return text(a) === text(b);
}
