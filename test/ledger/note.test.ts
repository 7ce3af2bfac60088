import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import t from 'tap'
import { EMPTY_ROOT } from '../../src/verifier/hashes.ts'
import { checkpointBody, parseCheckpoint } from '../../src/verifier/note/checkpoint.ts'
import { parseNote, parseSignatures } from '../../src/verifier/note/note.ts'
import {
  publicKeyOf,
  signerOf,
  signNote,
  verifierKey,
  verifyCheckpoint,
  verifyNote,
  verifySignature,
} from '../../src/verifier/note/signatures.ts'
import { parseVkey, vkeyOf } from '../../src/verifier/note/vkey.ts'
import { vectors } from './vectors.ts'

const { key, checkpoint, cosigned } = vectors
/** PKCS#8 of an Ed25519 private key up to its seed. */
const PKCS8 = '302e020100300506032b657004220420'
const privateKey = createPrivateKey({ key: Buffer.from(PKCS8 + key.seedHex, 'hex'), format: 'der', type: 'pkcs8' })
const signer = signerOf(key.origin, privateKey)
const logKey = parseVkey(key.vkey)!
const witnessKey = parseVkey(cosigned.witnessVkey)!
const other = signerOf(key.origin, generateKeyPairSync('ed25519').privateKey)

await t.test('the keys of the published examples are equal in both directions', (t) => {
  t.equal(vkeyOf(signer.key), key.vkey)
  t.equal(vkeyOf(logKey), key.vkey)
  t.equal(vkeyOf(witnessKey), cosigned.witnessVkey)
  t.equal(witnessKey.type, 'cosignature')
  t.equal(vkeyOf(verifierKey(witnessKey.name, publicKeyOf(witnessKey), 'cosignature')), cosigned.witnessVkey)
  t.end()
})

await t.test('a vkey may contain plus signs in its key', (t) => {
  for (let n = 0, found = 0; found < 3; n++) {
    const vkey = vkeyOf(verifierKey(`log.example/${n}`, generateKeyPairSync('ed25519').publicKey))
    if (vkey.split('+').length > 3) {
      found++
      t.equal(vkeyOf(parseVkey(vkey)!), vkey)
    }
  }
  t.end()
})

await t.test('a vkey that is malformed or has the id of another key is refused', (t) => {
  const [name, id, text] = [key.origin, key.vkey.split('+')[1]!, key.vkey.split('+').slice(2).join('+')]
  const wrong = [
    '',
    name,
    `${name}+${id}`,
    `${name}+${id}+`,
    `${name}+${id}+${text.slice(0, -4)}`,
    `${name}+${id}+${text}=`,
    `${name}+${id}+${text}\n`,
    `${name}+${id}+${text}AAAA`,
    `${name}+00000000+${text}`,
    `${name}+${id.toUpperCase()}+${text}`,
    `${name}x+${id}+${text}`,
    `+${id}+${text}`,
    `a b+${id}+${text}`,
    `${name}+${id}+${Buffer.concat([Uint8Array.of(2), Buffer.from(text, 'base64').subarray(1)]).toString('base64')}`,
  ]
  for (const vkey of wrong) t.equal(parseVkey(vkey), undefined, vkey)
  t.throws(() => verifierKey('a', generateKeyPairSync('x25519').publicKey), /not an Ed25519 public key/)
  t.throws(() => verifierKey('a b', createPublicKey(privateKey)), /not the name of a key/)
  t.end()
})

await t.test('the checkpoint of the published examples is equal byte for byte and verifies', (t) => {
  const parsed = parseCheckpoint(checkpoint)!
  t.equal(parsed.size, 11)
  t.equal(parsed.origin, key.origin)
  t.equal(signNote(checkpointBody(parsed), [signer]), checkpoint)
  const verified = verifyCheckpoint(checkpoint, [logKey])
  t.match(verified, { origin: key.origin, size: 11, text: checkpoint, signatures: [{ key: logKey }] })
  const witnessed = verifyCheckpoint(cosigned.text, [witnessKey, logKey])
  t.match(witnessed, { size: 11, signatures: [{ key: logKey }, { key: witnessKey, time: cosigned.time }] })
  t.match(verifyCheckpoint(cosigned.text, [logKey]), { signatures: { length: 1 } })
  t.equal(parseCheckpoint(signNote(checkpointBody({ ...parsed, size: 0, root: EMPTY_ROOT }), [signer]))!.size, 0)
  t.end()
})

await t.test('a checkpoint is refused with its cause', (t) => {
  const otherLog = signerOf('log.example/1', privateKey)
  const rotated = signNote(parseCheckpoint(checkpoint)!.note.text, [other, signer])
  t.match(verifyCheckpoint(rotated, [logKey]), { size: 11, signatures: { length: 1 } })
  t.match(verifyCheckpoint(rotated, [logKey, other.key]), { size: 11, signatures: { length: 2 } })
  t.equal(verifyCheckpoint(checkpoint, [other.key]), 'unknown key')
  t.equal(verifyCheckpoint(checkpoint, [otherLog.key]), 'other origin')
  t.equal(verifyCheckpoint(checkpoint, [witnessKey]), 'other origin')
  t.equal(verifyCheckpoint(checkpoint, []), 'other origin')
  t.equal(verifyCheckpoint(cosigned.text, [other.key, witnessKey]), 'unknown key')
  t.equal(verifyCheckpoint(checkpoint.replace('\n11\n', '\n12\n'), [logKey]), 'wrong signature')
  const otherTime = cosigned.text.replace('AAAABq/YbH', 'AAAABq/YbG')
  t.not(otherTime, cosigned.text)
  t.equal(verifyCheckpoint(otherTime, [logKey, witnessKey]), 'wrong signature')
  t.match(verifyCheckpoint(otherTime, [logKey]), { size: 11 })
  for (const change of [
    (text: string) => text.replace('\n11\n', '\n011\n'),
    (text: string) => text.replace('\n11\n', '\n-1\n'),
    (text: string) => text.replace('\n11\n', '\n9007199254740992\n'),
    (text: string) => text.replace('=\n\n', '\n\n'),
    (text: string) => text.replace('=\n\n', '=\nextension\n\n'),
    (text: string) => text.replace('\n11\n', '\n'),
    (text: string) => text.replace('\n11\n', '\n11\t\n'),
    (text: string) => text.replace('\n\n', '\n'),
    (text: string) => text.replaceAll('\n', '\r\n'),
    (text: string) => text.slice(0, -1),
    (text: string) => `${text}\n`,
    (text: string) => `${text}—\n`,
    (text: string) => text.replace('— ', '- '),
    (text: string) => text.replace('— ', '—  '),
    (text: string) => text.replace(/=\n$/, '\n'),
    (text: string) => text.replace(/^[^\n]*/, ''),
    (text: string) => text.replace(/\n\n.*/s, '\n\n'),
    (text: string) => text + `— a AAAAAA==\n`,
    (text: string) => text + '— a AAAAAAA=\n'.repeat(100),
    (text: string) => text + `— a ${'A'.repeat(131_072)}\n`,
    () => '',
  ])
    t.equal(verifyCheckpoint(change(checkpoint), [logKey]), 'malformed checkpoint', change.toString())
  t.match(verifyCheckpoint(checkpoint + '— a AAAAAAA=\n'.repeat(99), [logKey]), { size: 11 })
  t.end()
})

await t.test('every change of one bit of a signed note is noticed', (t) => {
  const bytes = Buffer.from(checkpoint)
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = Buffer.from(bytes)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    if (typeof verifyCheckpoint(changed.toString(), [logKey]) !== 'string') t.fail(`bit ${bit}`)
  }
  t.pass(`${8 * bytes.length} bits`)
  t.end()
})

await t.test('a note has the text up to its last empty line', (t) => {
  const text = 'one\n\ntwo\n'
  const note = parseNote(signNote(text, [signer, other]))!
  t.equal(note.text, text)
  t.match(verifyNote(note, [logKey]), [{ key: logKey }])
  t.match(verifyNote(note, [logKey, other.key]), [{ key: logKey }, { key: other.key }])
  t.equal(parseNote('one\n'), undefined)
  t.equal(parseNote(''), undefined)
  t.end()
})

await t.test('a cosignature covers its time and the text', (t) => {
  const { text } = parseNote(checkpoint)!
  const witness = generateKeyPairSync('ed25519')
  const witnessed = verifierKey('witness.example/w', witness.publicKey, 'cosignature')
  const lineFor = (time: bigint, signed: bigint) => {
    const stamp = Buffer.alloc(8)
    stamp.writeBigUInt64BE(time)
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${signed}\n${text}`), witness.privateKey)
    const bytes = Buffer.concat([Buffer.from(witnessed.id, 'hex'), stamp, signature])
    return parseSignatures(`— ${witnessed.name} ${bytes.toString('base64')}\n`)![0]!
  }
  t.match(verifySignature(text, lineFor(7n, 7n), witnessed), { time: 7, key: witnessed })
  t.equal(verifySignature(text, lineFor(7n, 8n), witnessed), undefined)
  t.equal(verifySignature(`${text}x\n`, lineFor(7n, 7n), witnessed), undefined)
  t.equal(verifySignature(text, lineFor(2n ** 53n, 2n ** 53n), witnessed), undefined)
  t.equal(verifySignature(text, lineFor(7n, 7n), logKey), undefined)
  const plain = verifierKey(witnessed.name, witness.publicKey)
  t.not(plain.id, witnessed.id)
  t.end()
})
