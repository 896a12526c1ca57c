import type { TObject, TString } from 'typebox';
import { rule, withRules } from './rule.ts';
import { integer, text } from './scalars.ts';
import { struct } from './shapes.ts';

const label = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

/** A name inside an object: an RFC 1123 label. */
export function labelName(description: string, fallback?: string): TString {
  return text(description, { max: 63, min: 1, pattern: `^${label}$`, ...(fallback === undefined ? {} : { default: fallback }) });
}

/** The name of another object: an RFC 1123 subdomain. */
export function objectName(description: string): TString {
  return text(description, { max: 253, min: 1, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$' });
}

/** A reference to an object of the same namespace. */
export function reference(description: string): TObject<{ name: TString }> {
  return struct(description, { name: objectName('Name of the object.') });
}

/** A host name without scheme, port or wildcard. */
export function hostName(description: string): TString {
  return text(description, { max: 253, min: 1, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' });
}

/** A host name and a port. */
export const HostPort = struct('A host, by its exact name, and a port.', {
  host: hostName('Host name; no wildcards.'),
  port: integer('TCP port.', 1, 65_535, 443),
});

/** Whether a CEL string expression is a path that stays below the folder it starts in. */
export function isRelativePath(expression: string): string {
  return `${expression}.split('/').all(part, part != '' && part != '.' && part != '..')`;
}

/** A path below a folder, with `/` between the names. `path` is the field's name in messages. */
export function relativePath(description: string, path: string): TString {
  return withRules(
    text(description, { max: 512, min: 1, pattern: '^[^\\x00-\\x1f\\x7f\\\\]*$' }),
    rule(isRelativePath('self'), `${path} must be relative without empty, '.' or '..' parts; write it like src/lib`),
  );
}
