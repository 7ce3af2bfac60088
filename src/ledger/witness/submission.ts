import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { parseSize } from '../../verifier/note/checkpoint.ts'
import { isOfKey, type NoteSignature, parseSignatures } from '../../verifier/note/note.ts'
import { verifyCheckpoint, verifySignature } from '../../verifier/note/signatures.ts'
import type { VerifierKey } from '../../verifier/note/vkey.ts'
import { base64Of, sha256 } from '../../verifier/platform.ts'
import { consistencyProof, type ReadNodes } from '../../verifier/proof/proofs.ts'
import type { KeptCheckpoint, WitnessedCheckpoint } from '../ledger-store.ts'

/** Maximum difference in ms between the time of a cosignature and the clock. */
const TOLERANCE_MS = 300_000

/** Text that the signatures of a checkpoint sign. */
export const bodyOf = (text: string): string => text.slice(0, text.indexOf('\n\n') + 1)

/** Returns the first signature of a key in signature lines, not verified. Malformed lines are ignored. */
const signatureIn = (lines: string, key: VerifierKey): NoteSignature | undefined => {
  for (const line of lines.split('\n')) {
    const signature = line.startsWith(`— ${key.name} `) ? parseSignatures(`${line}\n`)?.[0] : undefined
    if (signature && isOfKey(signature, key)) return signature
  }
  return undefined
}

/** A verified cosignature: its line, and its time in ms since 1970. */
type Cosignature = { readonly line: string; readonly time: number }

/** Maximum time in ms that a Date can hold. */
const LAST_MS = 8.64e15

const verified = (body: string, signature: NoteSignature | undefined, key: VerifierKey): Cosignature | undefined => {
  const found = signature && verifySignature(body, signature, key)
  const time = (found?.time ?? Number.POSITIVE_INFINITY) * 1000
  return found && time <= LAST_MS ? { line: found.line, time } : undefined
}

/** Returns true if a checkpoint has a signature of a key, not verified. */
export const hasSignature = (text: string, key: VerifierKey): boolean =>
  signatureIn(text.slice(bodyOf(text).length), key) !== undefined

/** Returns the cosignature of a key on a checkpoint; undefined if it has none. */
export const cosignatureOf = (text: string, key: VerifierKey): Cosignature | undefined => {
  const body = bodyOf(text)
  return verified(body, signatureIn(text.slice(body.length), key), key)
}

/** Returns the cosignature in the answer of a witness, or the cause for which there is none. */
export const cosignatureIn = (answer: string, body: string, key: VerifierKey, now: Date): Cosignature | string => {
  const found = verified(body, signatureIn(answer, key), key)
  if (!found) return 'the answer has no valid cosignature'
  return Math.abs(found.time - now.getTime()) <= TOLERANCE_MS
    ? found
    : 'the time of the cosignature differs from the clock of this service by more than 5 minutes'
}

/** Returns a checkpoint with a further signature line. Its body stays the same. */
export const withLine = (checkpoint: KeptCheckpoint, line: string): KeptCheckpoint =>
  checkpoint.text.split('\n').includes(line) ? checkpoint : { ...checkpoint, text: `${checkpoint.text}${line}\n` }

/** Maximum number of submissions of one checkpoint, each from another size. */
const SUBMISSIONS = 3

/** A witness: its submission prefix, its monitoring prefix, its configured key, and the key of its cosignatures. */
export type Witness = {
  readonly url: string
  readonly monitor: string
  readonly vkey: string
  readonly key: VerifierKey
}

/** A request to a witness, and its answer. */
type WitnessRequest = { readonly method: 'GET' | 'POST'; readonly url: string; readonly body?: string }
type WitnessAnswer = { readonly status: number; readonly contentType: string; readonly text: string }

/**
 * PORT. Sends a request to a witness: at most 5 s, no redirects, at most 16 KiB of answer. Otherwise it rejects with an
 * error whose message may be logged.
 */
export type SendToWitness = (request: WitnessRequest, stop: AbortSignal) => Promise<WitnessAnswer>

/** Outcome of a submission: the cosignature, or the cause for which there is none. */
export type Outcome =
  | { readonly result: 'ok'; readonly cosignature: Cosignature }
  | { readonly result: 'error' | 'conflict'; readonly why: string }
  | { readonly result: 'diverged'; readonly why: string; readonly witnessed: WitnessedCheckpoint }

type SubmissionOptions = {
  readonly clock: Pick<Clock, 'now'>
  readonly send: SendToWitness
  readonly nodes: ReadNodes
  /** Keys of the ledger whose signatures count. */
  readonly ledgerKeys: () => readonly VerifierKey[]
  /** True if the tree has this root at this size, after it has reached the head of the log. */
  readonly isInTree: (size: number, root: string) => Promise<boolean>
}

/** The size that a witness holds, in an answer 409. */
const heldSize = ({ contentType, text }: WitnessAnswer): number | undefined =>
  /^text\/x\.tlog\.size *(;|$)/i.test(contentType) && text.endsWith('\n') ? parseSize(text.slice(0, -1)) : undefined

/** Submits checkpoints to witnesses (C2SP tlog-witness). */
export const submissions = ({ clock, send, nodes, ledgerKeys, isInTree }: SubmissionOptions) => {
  const requestOf = async (old: number, { size, text }: KeptCheckpoint): Promise<string> => {
    const proof = old === 0 ? [] : await consistencyProof(old, size, nodes)
    return `old ${old}\n${proof.map((hash) => `${base64Of(hash)}\n`).join('')}\n${text}`
  }

  /** Compares the checkpoint that a witness publishes with the tree, after it refused one of this ledger. */
  const compared = async (
    { monitor, key }: Witness,
    { text }: KeptCheckpoint,
    refusal: string,
    stop: AbortSignal,
  ): Promise<Outcome> => {
    const conflict = (why: string): Outcome => ({ result: 'conflict', why: `${refusal}; ${why}` })
    const origin = text.slice(0, text.indexOf('\n'))
    const url = `${monitor}/${Buffer.from(sha256(Buffer.from(origin))).toString('hex')}/checkpoint`
    let answer: WitnessAnswer
    try {
      answer = await send({ method: 'GET', url }, stop)
    } catch (error) {
      return conflict(`its checkpoint cannot be read: ${messageOf(error)}`)
    }
    if (answer.status !== 200) return conflict(`its checkpoint cannot be read: status ${answer.status}`)
    const shown = verifyCheckpoint(answer.text, ledgerKeys())
    if (typeof shown === 'string') return conflict(`its checkpoint has no valid signature of this ledger: ${shown}`)
    if (shown.origin !== origin) return conflict('its checkpoint is of another ledger')
    const [size, root] = [shown.size, base64Of(shown.root)]
    if (await isInTree(size, root)) return conflict(`its checkpoint over ${size} events is one of this log`)
    const witnessed = { size, root, text: answer.text, witness: key.name }
    return {
      result: 'diverged',
      why: `it has a signed checkpoint over ${size} events that is not of this log`,
      witnessed,
    }
  }

  /** Submits a checkpoint from the size `from`, which the witness has signed last. */
  const submit = async (
    witness: Witness,
    checkpoint: KeptCheckpoint,
    from: number,
    stop: AbortSignal,
  ): Promise<Outcome> => {
    let old = from <= checkpoint.size ? from : 0
    for (let n = 0; n < SUBMISSIONS; n++) {
      const body = await requestOf(old, checkpoint)
      const answer = await send({ method: 'POST', url: `${witness.url}/add-checkpoint`, body }, stop)
      if (answer.status === 200) {
        const found = cosignatureIn(answer.text, bodyOf(checkpoint.text), witness.key, clock.now())
        return typeof found === 'string' ? { result: 'error', why: found } : { result: 'ok', cosignature: found }
      }
      const held = answer.status === 409 ? heldSize(answer) : undefined
      if (held === undefined || held > checkpoint.size || held === old) {
        if (answer.status !== 409 && answer.status !== 422)
          return { result: 'error', why: `the answer has status ${answer.status}` }
        const refusal = `status ${answer.status}${held === undefined ? '' : ` with size ${held}`}`
        return compared(witness, checkpoint, refusal, stop)
      }
      old = held
    }
    return { result: 'error', why: 'the witness returns another size each time' }
  }
  return async (...args: Parameters<typeof submit>): Promise<Outcome> => {
    try {
      return await submit(...args)
    } catch (error) {
      return { result: 'error', why: messageOf(error) }
    }
  }
}
