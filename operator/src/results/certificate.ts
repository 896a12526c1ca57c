// operator, results: certificates of the results server: issue, freshness, bundles. May import the layers below results, kube and protocol.
import { createPrivateKey, createPublicKey, generateKeyPair, randomBytes, sign, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  Extension,
  Extensions,
  ExtendedKeyUsage,
  GeneralName,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_kp_serverAuth,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

/** PEM of a certificate with its key, and of the authority that vouches for it. */
export interface Issued {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

const ecdsaWithSha256 = '1.2.840.10045.4.3.2';
const commonName = '2.5.4.3';
const hourMs = 3_600_000;
/** Clocks of API servers may be behind. */
const skewMs = hourMs;
export const lifeMs = 90 * 24 * hourMs;

type Key = Awaited<ReturnType<typeof newKey>>;

const newKey = () => promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });

function named(text: string): Name {
  return new Name([
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type: commonName, value: new AttributeValue({ utf8String: text }) })]),
  ]);
}

function extension(extnID: string, critical: boolean, value: object): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });
}

/** The bytes of a view, and nothing beside it. */
function bytesOf(view: Uint8Array): ArrayBuffer {
  return Uint8Array.from(view).buffer;
}

interface Wanted {
  readonly subject: string;
  readonly issuer: string;
  readonly of: Key;
  readonly by: Key;
  readonly now: number;
  readonly extensions: readonly Extension[];
}

function signed({ subject, issuer, of, by, now, extensions }: Wanted): string {
  const algorithm = new AlgorithmIdentifier({ algorithm: ecdsaWithSha256 });
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40; // positive, and of full length
  const tbs = new TBSCertificate({
    version: Version.v3,
    serialNumber: bytesOf(serial),
    signature: algorithm,
    issuer: named(issuer),
    subject: named(subject),
    validity: new Validity({ notBefore: new Date(now - skewMs), notAfter: new Date(now + lifeMs) }),
    subjectPublicKeyInfo: AsnConvert.parse(bytesOf(of.publicKey.export({ type: 'spki', format: 'der' })), SubjectPublicKeyInfo),
    extensions: new Extensions([...extensions]),
  });
  const content = AsnConvert.serialize(tbs);
  const signatureValue = bytesOf(sign('sha256', Buffer.from(content), by.privateKey));
  const der = AsnConvert.serialize(new Certificate({ tbsCertificate: tbs, signatureAlgorithm: algorithm, signatureValue }));
  return new X509Certificate(Buffer.from(der)).toString();
}

/**
 * A certificate for a server of these names, under an authority that signs this one certificate: its key is forgotten, so that
 * it cannot be stolen.
 */
export async function issue(names: readonly string[], now: number): Promise<Issued> {
  const [authority, own] = await Promise.all([newKey(), newKey()]);
  const issuer = `agentfleet-results-ca-${randomBytes(8).toString('hex')}`; // of its own name: two authorities stand in one bundle
  const root = signed({
    subject: issuer,
    issuer,
    of: authority,
    by: authority,
    now,
    extensions: [
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
      extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.keyCertSign)),
    ],
  });
  const certificate = signed({
    subject: names[0] ?? '',
    issuer,
    of: own,
    by: authority,
    now,
    extensions: [
      extension(id_ce_basicConstraints, true, new BasicConstraints({ cA: false })),
      extension(id_ce_keyUsage, true, new KeyUsage(KeyUsageFlags.digitalSignature)),
      extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_serverAuth])),
      extension(id_ce_subjectAltName, false, new SubjectAlternativeName(names.map((dNSName) => new GeneralName({ dNSName })))),
    ],
  });
  return { authority: root, certificate, key: own.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

/** Reports whether a certificate with its key serves these names for more than the last third of its life. False for what is none. */
export function isFresh({ certificate, key }: Pick<Issued, 'certificate' | 'key'>, names: readonly string[], now: number): boolean {
  try {
    const found = new X509Certificate(certificate);
    const isOwn = createPublicKey(createPrivateKey(key)).equals(found.publicKey);
    const last = found.validToDate.getTime() - lifeMs / 3;
    return isOwn && now < last && now >= found.validFromDate.getTime() && names.every((name) => found.checkHost(name) !== undefined);
  } catch {
    return false;
  }
}

/** The certificates of a bundle in PEM, the first of them at most. */
export function bundleOf(pem: string, most: number): readonly string[] {
  return (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).slice(0, most).map((one) => `${one}\n`);
}
