import { isAbsolute } from 'node:path';
import { ConfigError, reader, type Env } from '@agentfleet/protocol/environment';

/** What the job works on. */
export interface WeightsConfig {
  readonly uri: string;
  /** Folder with the files, or that they come to. */
  readonly folder: string;
  readonly digest: string | undefined;
  readonly tokenizerHash: string | undefined;
  /** File that the report goes to. */
  readonly report: string;
  /** Port on which it tells how far it is; 0: a free one. */
  readonly port: number;
  /** Of s3://. */
  readonly bucket: { readonly endpoint: string; readonly region: string; readonly forcePathStyle: boolean } | undefined;
  /** Of hf://, an origin. */
  readonly hub: string;
  readonly credentialFile: string | undefined;
}

const text = (value: string): string => value;

/** @throws ConfigError with all faults */
export function readWeightsConfig(env: Env): WeightsConfig {
  const faults: string[] = [];
  const read = reader(env, faults, 'the job of the operator');
  const optional = (name: string): string | undefined => env[name] || undefined;
  const uri = read('AGENTFLEET_WEIGHTS_URI', text);
  const bucket = uri?.startsWith('s3://')
    ? {
        endpoint: read('AGENTFLEET_S3_ENDPOINT', text),
        region: read('AGENTFLEET_S3_REGION', text),
        forcePathStyle: env['AGENTFLEET_S3_PATH_STYLE'] === 'true',
      }
    : undefined;
  const config: WeightsConfig = {
    uri,
    folder: read('AGENTFLEET_WEIGHTS_FOLDER', folderOf),
    digest: optional('AGENTFLEET_WEIGHTS_DIGEST'),
    tokenizerHash: optional('AGENTFLEET_TOKENIZER_HASH'),
    report: read('AGENTFLEET_REPORT', folderOf, '/dev/termination-log'),
    port: Number(read('AGENTFLEET_PORT', text, '7080')),
    bucket,
    hub: read('AGENTFLEET_HUB', text, 'https://huggingface.co'),
    credentialFile: optional('AGENTFLEET_CREDENTIAL_FILE'),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function folderOf(value: string): string {
  if (!isAbsolute(value)) throw new Error(`"${value}" is not an absolute path`);
  return value;
}
