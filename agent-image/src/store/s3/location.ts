import { StoreFailure } from '../failure.ts';
import { assertKey } from '../key.ts';

/** A place in a bucket, as the brief of a pool names it. */
export interface BucketAddress {
  /** `s3://bucket` or `s3://bucket/prefix`. */
  readonly uri: string;
  /** Origin of the S3 API. */
  readonly endpoint: string;
  /** Whether the bucket is in the path and not in the host name. */
  readonly forcePathStyle: boolean;
}

/** Translates keys of the store to keys, addresses and URLs of the bucket. */
export interface Location {
  readonly bucket: string;
  /** What all keys in the bucket begin with: empty, or ending in `/`. */
  readonly prefix: string;
  keyUrl(key: string): URL;
  bucketUrl(query: Readonly<Record<string, string>>): URL;
  uri(key: string): string;
}

const form = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/s;

/** @throws StoreFailure `Refused` for an address that names no bucket, `InvalidKey` for a prefix that is no key */
export function locate(address: BucketAddress): Location {
  const [, bucket, path = ''] = form.exec(address.uri) ?? [];
  if (bucket === undefined) {
    throw new StoreFailure('Refused', `${address.uri} names no bucket`, { cure: 'write spec.storage.uri like s3://bucket/prefix' });
  }
  const folder = path.replace(/\/$/, '');
  if (folder !== '') assertKey(folder);
  const prefix = folder === '' ? '' : `${folder}/`;
  const base = baseUrl(address, bucket);
  return {
    bucket,
    prefix,
    keyUrl: (key) => new URL(`${base}/${escaped(prefix + key)}`),
    bucketUrl: (query) => {
      const words = Object.entries(query).map(([name, value]) => `${name}=${encode(value)}`);
      return new URL(`${base}${address.forcePathStyle ? '' : '/'}?${words.join('&')}`);
    },
    uri: (key) => `s3://${bucket}/${prefix}${key}`,
  };
}

function baseUrl({ endpoint, forcePathStyle }: BucketAddress, bucket: string): string {
  const { protocol, host } = new URL(endpoint);
  return forcePathStyle ? `${protocol}//${host}/${bucket}` : `${protocol}//${bucket}.${host}`;
}

/** The signature is over exactly this form: the signer reads an unescaped `+` as a space. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function escaped(key: string): string {
  return key.split('/').map(encode).join('/');
}
