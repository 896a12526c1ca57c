// Manifests as kubectl reads them: scalars of YAML 1.1 but its base 60, octals of both forms, merge keys; times stay strings.
import { boolYaml11Tag, FAILSAFE_SCHEMA, floatCoreTag, intCoreTag, load, loadAll, mergeTag, NOT_RESOLVED, nullYaml11Tag } from 'js-yaml';

const plain = (source: string): string => source.replaceAll('_', '');

function integer(source: string): number | typeof NOT_RESOLVED {
  const [, sign = '', digits = ''] = /^([-+]?)(0x[\da-f]+|0b[01]+|0o?[0-7]+|0|[1-9]\d*)$/i.exec(plain(source)) ?? [];
  if (digits === '') return NOT_RESOLVED;
  const value = Number(digits.replace(/^0(?=\d)/, '0o'));
  return sign === '-' && value !== 0 ? -value : value;
}

const schema = FAILSAFE_SCHEMA.withTags(
  nullYaml11Tag,
  boolYaml11Tag,
  { ...intCoreTag, resolve: integer },
  { ...floatCoreTag, resolve: (source, ...more) => floatCoreTag.resolve(plain(source), ...more) },
  mergeTag,
);

/** The one object of a text. @throws YAMLException */
export const loadManifest = (text: string): unknown => load(text, { schema });

/** The objects of a text; empty documents are none. @throws YAMLException */
export function loadManifests(text: string): readonly unknown[] {
  return loadAll(text, { schema }).filter((document) => document !== null && document !== undefined);
}
