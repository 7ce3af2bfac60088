import { Type } from 'typebox'
import { type EventOf, FIRST_FORMAT, renamed, v1 } from './define.ts'
import { count, counts, list, object, oneOf, pseudonym, text, texts, time, truth, word } from './fields.ts'
import { METHODS } from './token.ts'

const instance = { instance: word('Name of the instance.', 'name of an instance') }

/** Start and stop of an instance, and its actions on shared data. One stream per service process: instance-{instance}. */
export const instanceEvents = {
  InstanceStarted: v1(
    object(
      'An instance of the service has started and is about to become ready. It records events from this event on.',
      {
        ...instance,
        version: word('The version of the software.', 'Semantic Versioning'),
        node: word('The version of Node.js that the instance runs on.', '`v` and Semantic Versioning'),
        storage: word('The type of storage that the instance uses.', 'value of `storage.type`'),
        methods: list('The enabled methods of issuing a token.', oneOf('The method.', METHODS)),
        configDigest: word(
          'Digest of the configuration of the instance, without secrets: SHA-256 of the canonical JSON (RFC 8785) of the body of GET /meta/config.',
          'SHA-256, 64 hexadecimal digits',
        ),
      },
    ),
  ),
  InstanceStopped: v1(
    object(
      'An instance of the service shut down in order, and records no more events. A killed process writes no event of this type.',
      {
        ...instance,
        cause: oneOf(
          '`signal`: by request, such as SIGTERM. `error`: after a fault, which the log of the service names.',
          ['signal', 'error'],
        ),
      },
    ),
  ),
  ReadModelsRebuilt: v1(
    object(
      'At the start of an instance the read models did not match the history, and were rebuilt from it. `eventsGone` above 0 means that the history itself lost acknowledged events, for example because an older backup was restored.',
      {
        instance: word('The instance that rebuilt the read models.', 'name of an instance'),
        cause: oneOf(
          '`shorter`: the history ends before the checkpoint of the read models. `forked`: it has another event at the checkpoint. `rows_missing`: rows are missing or outdated. `another_log`: the read models belong to another history.',
          ['shorter', 'forked', 'rows_missing', 'another_log'],
        ),
        eventsGone: count('Minimum number of events that the read models contained and the history lacks.'),
        readModels: list(
          'The read models that did not match the log.',
          word('The read model.', 'name of a read model'),
        ),
      },
    ),
  ),
}

export type InstanceEvent = EventOf<typeof instanceEvents>

/** Accepted losses of the service's keys. Stream: keys-main. */
export const keysEvents = {
  LostKeysAccepted: v1(
    object('An operator accepted the loss of keys of this log, so that the service could continue without them.', {
      kid: word('Id of the pepper with which token digests are computed from this event on.', '8 hexadecimal digits'),
      tokens: truth('True if the pepper changed. Tokens issued before this event are invalid.'),
      subjects: truth(
        'True if the keys of subjects are lost. Encrypted fields of earlier events are then unreadable, although no subject was erased.',
      ),
    }),
  ),
}

export type KeysEvent = EventOf<typeof keysEvents>

/** Accepted damage to the history. Stream: history-main. */
export const historyEvents = {
  DamagedLogAccepted: v1(
    object('An operator accepted a damaged log, so that the service could continue with it.', {
      positionsMissing: count('Number of missing events, by position in the log.'),
      revisionsMissing: count('Number of missing events, by revision in the streams.'),
      findings: list('The damage found.', word('A stream or position of the log, and the damage at it.', 'text')),
    }),
  ),
}

export type HistoryEvent = EventOf<typeof historyEvents>

/** Reads of the history. The actor in the envelope is the reader. One stream per record: history-{day}+{id}. */
export const historyReadEvents = {
  HistoryRead: v1(
    object(
      'Number of reads of the history by one caller in one minute. If a process is killed, up to one minute of counts is lost.',
      {
        from: time('Beginning of the period.'),
        to: time('End of the period.'),
        requests: count('Number of requests.'),
        events: count('Number of events shown.'),
        opened: count('Number of requests that decrypted personal data.'),
        routes: counts('Requests by route.', 'path with parameters by name'),
      },
    ),
  ),
  HistoryExported: v1(
    object(
      'The history was exported or followed. The event is written before the first byte of the answer. Equal exports of one caller in the same minute, and more than ten of them, are counted in `HistoryRead`.',
      {
        format: word('Format of the answer.', 'value of the query `format`'),
        filter: texts(
          'Filters by parameter. Words of the service, times, positions, ids, and keys that the history knows are as given, up to 4,096 characters together; each other text is `filter-` and its keyed digest of 22 characters.',
        ),
        fromIndex: count('Index of the first event of the range.'),
        toIndex: Type.Optional(count('Index after the last event of the range; absent for a live stream.')),
        personal: truth('Whether personal data was decrypted.'),
      },
    ),
  ),
}

export type HistoryReadEvent = EventOf<typeof historyReadEvents>

const ledger = word('Id of the ledger.', '8 hexadecimal digits')
const origin = word('Origin of the checkpoints of the ledger.', 'first line of a C2SP tlog-checkpoint')
const vkey = (description: string) => word(description, 'C2SP verifier key')

/** The ledger: the signed Merkle tree over the log. Stream: history-ledger. */
export const ledgerEvents = {
  LedgerStarted: v1(
    object('The ledger of this log began. Its tree covers the log from the first event on.', {
      ledger,
      origin,
      vkey: vkey('The key that signs the checkpoints of the ledger.'),
      leaf: word('Format of the entries of the tree.', 'name of a format'),
    }),
  ),
  SigningKeyChanged: v1(
    object('An operator replaced the signing key of the ledger.', {
      ledger,
      from: vkey('The key before.'),
      to: vkey('The key that signs checkpoints from this event on.'),
      compromised: truth(
        'True if unauthorized people may know the previous key, so that it must sign no further checkpoint.',
      ),
    }),
  ),
  LedgerRestarted: v1(
    object(
      'An operator began a new ledger over the same log, because the previous ledger can sign no further checkpoint. Checkpoints of the previous ledger can still be checked against the events that they cover.',
      {
        ledger,
        origin,
        vkey: vkey('The key that signs the checkpoints of the new ledger.'),
        previousOrigin: word('Origin of the previous ledger.', 'first line of a C2SP tlog-checkpoint'),
        reason: text('The reason that the operator gave.'),
        lastCheckpoint: Type.Optional(
          word('The last checkpoint of the previous ledger that the operator has.', 'C2SP signed note'),
        ),
      },
    ),
  ),
}

/** The stream of the events of the ledger. */
export const LEDGER_STREAM = 'history-ledger'

export type LedgerEvent = EventOf<typeof ledgerEvents>

/**
 * Cluster membership: the running instances that share servers. All membership events are in one stream,
 * `instance-main`. Always of the first format, because older versions skip these events.
 */
export const membershipEvents = {
  InstanceJoined: v1(
    object('An instance joined the list of members: it started, or it was still running after it had been evicted.', {
      ...instance,
      reads: count('The latest format of the history that the instance reads.'),
      version: word('The version of the service.', 'Semantic Versioning'),
      complete: Type.Optional(
        truth(
          'True if every running instance is a member: the history began with this event, or `eventstore.all_on_roll` is set.',
        ),
      ),
    }),
    FIRST_FORMAT,
  ),
  MembersProbed: renamed(
    'InstancesCalled',
    v1(object('An instance requested a response from all other instances.', instance), FIRST_FORMAT),
  ),
  MemberResponded: renamed('InstanceAnswered', v1(object('An instance responded to a probe.', instance), FIRST_FORMAT)),
  InstanceLeft: v1(
    object('An instance left the cluster. No request to this instance is in progress.', {
      ...instance,
      cause: oneOf('`ended`: orderly shutdown. `silent`: no response to a probe.', ['ended', 'silent']),
    }),
    FIRST_FORMAT,
  ),
}

export type MembershipEvent = EventOf<typeof membershipEvents>

const subject = (description: string) => pseudonym(description, '`person-…`, `token-<id>` or `network-<YYYY-MM-DD>`')
const keys = (description: string) =>
  list(description, word('Subject of a key.', '`person-…`, `token-<id>` or `network-<YYYY-MM-DD>`'))

/** Erasure of the personal data of a subject. Stream: keys-{subject}. */
export const erasureEvents = {
  SubjectErasureRequested: v1(
    object(
      'The erasure of the personal data of a subject was requested. The service destroys the keys after this event, and a job of the service finishes an interrupted erasure.',
      {
        subject: subject('The subject to erase.'),
        keys: keys('Keys to destroy: the key of the subject and, for a person, the keys of the tokens of the person.'),
        reason: text('Reason for the erasure.'),
      },
    ),
  ),
  SubjectErased: v1(
    object(
      'The keys of a subject were destroyed, so the personal data in earlier events cannot be decrypted any more.',
      {
        subject: subject('The erased subject.'),
        keys: keys('The destroyed keys.'),
      },
    ),
  ),
}

export type ErasureEvent = EventOf<typeof erasureEvents>

/**
 * Progress of the erasure of a subject: all keys that were requested to be destroyed, and those that may still exist.
 * `left` is undefined if the erasure is complete.
 */
export type ErasureProgress = { readonly keys: readonly string[]; readonly left: readonly string[] | undefined }

/** Progress after a request to destroy keys. */
export const requested = (before: ErasureProgress | undefined, keys: readonly string[]): ErasureProgress => ({
  keys: [...new Set([...(before?.keys ?? []), ...keys])],
  left: [...new Set([...(before?.left ?? []), ...keys])],
})

/** Progress after the destruction of keys. */
export const destroyed = (before: ErasureProgress | undefined, keys: readonly string[]): ErasureProgress => {
  const gone = new Set(keys)
  const left = (before?.left ?? []).filter((key) => !gone.has(key))
  return { keys: [...new Set([...(before?.keys ?? []), ...keys])], left: left.length === 0 ? undefined : left }
}
