import type { Static } from 'typebox';
import { flag, hostName, labelName, listByKey, objectName, optional, rule, setOf, struct, text, withRules } from '../schema/index.ts';

const SecretKeyRef = struct('A key of a Secret in the namespace of the pool.', {
  name: objectName('Name of the Secret.'),
  key: text('Key inside the Secret.', { max: 253, min: 1, pattern: '^[-._a-zA-Z0-9]+$' }),
});

/** A credential of the pool; it is only ever sent to its hosts. */
export const Credential = struct('A credential and where it may be sent.', {
  name: labelName('Name that storage and tasks refer to.'),
  secretRef: SecretKeyRef,
  hosts: setOf('The only hosts that it is sent to; none for a key that is only used here.', hostName('Host name.'), { max: 32 }),
});
export type Credential = Static<typeof Credential>;

/** `spec.credentials`. */
export const credentials = listByKey('Credentials of the pool.', 'name', Credential, { max: 32 });

/** `spec.storage`. */
export const Storage = struct('Object storage for event logs, checkpoints and artifacts; default: a volume of the pool.', {
  uri: text('Bucket and prefix: s3://bucket/prefix.', {
    max: 1024,
    min: 8,
    pattern: '^s3://[a-z0-9][-.a-z0-9]{1,61}[a-z0-9](/[-_.A-Za-z0-9]+)*/?$',
  }),
  endpoint: withRules(
    text('Address of the S3 API: https://host or https://host:port.', { max: 512, min: 1 }),
    rule(
      "self.matches('^https?://[-.a-z0-9]+(:[0-9]+)?/?$') && isURL(self) && url(self).getHostname() != ''",
      'spec.storage.endpoint must be http or https, a host and perhaps a port; write it like https://s3.example.com',
    ),
  ),
  region: text('Region that requests are signed for.', { max: 63, min: 1, default: 'us-east-1', pattern: '^[a-z0-9-]+$' }),
  forcePathStyle: flag('Whether the bucket is in the path and not in the host name.', false),
  encryption: optional(
    struct('Encryption of checkpoints and event logs, before they leave the worker.', {
      credential: labelName(
        'Entry of spec.credentials, without hosts, whose value is the base64 of 32 random bytes, one a line: the first encrypts, the others read what they have encrypted.',
      ),
    }),
  ),
  credential: optional(labelName('Entry of spec.credentials whose value is the access key id, a colon and the secret key; default: none.')),
});
export type Storage = Static<typeof Storage>;

const encrypted = 'has(self.storage) && has(self.storage.encryption)';

/** Rules over `spec` that tie storage to credentials. */
export const storageRules = [
  rule(
    `!(${encrypted}) || (has(self.credentials) && self.credentials.exists(c, c.name == self.storage.encryption.credential))`,
    'spec.storage.encryption.credential must be the name of an entry of spec.credentials; add the entry or correct the name',
  ),
  rule(
    `!(${encrypted}) || !has(self.credentials) || self.credentials.all(c, c.name != self.storage.encryption.credential || size(c.hosts) == 0)`,
    'spec.credentials[].hosts must be empty for the entry that spec.storage.encryption.credential names, because a key is sent nowhere; write hosts: []',
  ),
  rule(
    '!has(self.storage) || !has(self.storage.credential) || (has(self.credentials) && self.credentials.exists(c, c.name == self.storage.credential))',
    'spec.storage.credential must be the name of an entry of spec.credentials; add the entry or correct the name',
  ),
  rule(
    `!has(self.storage) || !has(self.storage.credential) || !has(self.credentials) || !isURL(self.storage.endpoint)
|| self.credentials.all(c, c.name != self.storage.credential || url(self.storage.endpoint).getHostname() in c.hosts)`.replaceAll('\n', ' '),
    'spec.credentials[].hosts must hold the host of spec.storage.endpoint, or the credential is not sent there; add the host',
  ),
];
