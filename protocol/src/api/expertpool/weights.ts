import type { Static } from 'typebox';
import {
  byteQuantity,
  choice,
  digest,
  hostName,
  integer,
  labelName,
  objectName,
  optional,
  rule,
  struct,
  text,
  withRules,
} from '../schema/index.ts';

const claim = 'pvc://[a-z0-9]([-.a-z0-9]*[a-z0-9])?(/[-_.A-Za-z0-9]+)*';
const image = 'oci://[a-z0-9][-._:/a-z0-9]*@sha256:[0-9a-f]{64}';
const bucket = 's3://[a-z0-9][-.a-z0-9]{1,61}[a-z0-9](/[-_.A-Za-z0-9]+)*';
const hub = 'hf://[-_.A-Za-z0-9]+/[-_.A-Za-z0-9]+@[-_.A-Za-z0-9]+';

/** Weights of a model: a folder of files. */
export const Weights = struct('A folder with the files of a model.', {
  uri: withRules(
    text('Address of the weights: pvc://claim/folder, oci://image@sha256:…, s3://bucket/prefix or hf://organisation/model@revision.', {
      max: 512,
      min: 7,
      pattern: `^(${claim}|${image}|${bucket}|${hub})$`,
    }),
    rule(
      "self.split('/').all(part, part != '.' && part != '..')",
      'spec.experts[].artifact.uri must not have . or .. between its slashes; write the folder itself',
    ),
  ),
  digest: optional(digest('Digest that must be found there, as status.artifacts[] reports it; default: any.')),
});
export type Weights = Static<typeof Weights>;

/** `spec.modelCache`. */
export const ModelCache = struct('A volume for weights that are fetched from s3:// and hf://.', {
  size: byteQuantity('Room for all of them.', 'spec.modelCache.size'),
  storageClassName: optional(objectName('Its class; default: that of the cluster.')),
  accessMode: choice(
    'ReadWriteOnce: all engines of the pool are on one node. ReadWriteMany: on any.',
    ['ReadWriteOnce', 'ReadWriteMany'],
    'ReadWriteOnce',
  ),
  hub: optional(
    struct('The hub that hf:// names.', {
      host: hostName('Host name; https is spoken with it.'),
      credential: optional(labelName('Entry of spec.credentials whose value is a token of the hub; default: none.')),
    }),
  ),
});
export type ModelCache = Static<typeof ModelCache>;

/** A draft model in the engine of its target. */
export const Speculative = struct('A small model that guesses tokens, in the engine and on the GPUs of the expert.', {
  draft: Weights,
  numTokens: integer('Tokens that it guesses at once.', 1, 16, 5),
});
export type Speculative = Static<typeof Speculative>;

/** `spec.experts[].warmup`. */
export const Warmup = struct('Preparation of an engine.', {
  timeoutSeconds: integer('Time until it has to have loaded; after it, it is started anew.', 30, 86_400, 1800),
});

const fetched = (expert: string): string => `(has(${expert}.artifact) && ${expert}.artifact.uri.matches('^(s3|hf)://'))`;
const fetchedDraft = (expert: string): string => `(has(${expert}.speculative) && ${expert}.speculative.draft.uri.matches('^(s3|hf)://'))`;
const fromBucket =
  "(has(e.artifact) && e.artifact.uri.startsWith('s3://')) || (has(e.speculative) && e.speculative.draft.uri.startsWith('s3://'))";

/** Rules over `spec` that tie weights to where they are kept. */
export const weightsRules = [
  rule(
    `has(self.modelCache) || !self.experts.exists(e, ${fetched('e')} || ${fetchedDraft('e')})`,
    'spec.modelCache must be set beside weights of s3:// or hf://, which are fetched into it; add it, or name a pvc:// or oci://',
  ),
  rule(
    `has(self.storage) || !self.experts.exists(e, ${fromBucket})`,
    'spec.storage must be set beside weights of s3://, as it says where buckets are; add it, or name another place',
  ),
  rule(
    '!has(self.modelCache) || !has(self.modelCache.hub) || !has(self.modelCache.hub.credential) || (has(self.credentials) && self.credentials.exists(c, c.name == self.modelCache.hub.credential && self.modelCache.hub.host in c.hosts))',
    'spec.modelCache.hub.credential must be the name of an entry of spec.credentials whose hosts hold spec.modelCache.hub.host; add or correct it',
  ),
];
