import { isLoopback } from '../../auth/outgoing/hosts.ts'
import { isSameHash } from '../../verifier/hashes.ts'
import { parseVkey } from '../../verifier/note/vkey.ts'
import { url } from '../addresses.ts'
import { counted, list, record } from '../collections.ts'
import { type SettingKind, setting } from '../setting.ts'
import { duration, integer, matching, path, printDuration, textual } from '../types.ts'

const none = undefined

/** A duration between two bounds in ms. */
const durationFrom = (least: number, most: number): SettingKind<number> => ({
  ...duration,
  read: (value, fault) => {
    const ms = duration.read(value, fault)
    if (ms === undefined || (ms >= least && ms <= most)) return ms
    return fault(`must be between ${printDuration(least)} and ${printDuration(most)}`)
  },
})

/** A duration, or 0 for never. */
const durationOrNever: SettingKind<number> = {
  ...duration,
  read: (value, fault) => (value === 0 || value === '0' || value === '0s' ? 0 : duration.read(value, fault)),
}

/** An https URL, or an http URL of this machine. */
const safeUrl: SettingKind<string> = {
  ...url,
  read: (value, fault) => {
    const read = url.read(value, fault)
    if (read === undefined || new URL(read).protocol === 'https:' || isLoopback(new URL(read))) return read
    return fault('must be https; http is allowed only for loopback')
  },
}

const vkey = textual('verifier key', {
  check: (value) =>
    parseVkey(value) ? undefined : 'must be a verifier key <name>+<id>+<key> of an Ed25519 key (type 0x04 or 0x01)',
})

const WITNESSES = 8
const witness = record({ url: safeUrl, vkey }, { monitor: safeUrl })
const witnessList = counted(list(witness), { most: WITNESSES })
const publicKey = (text: string) => parseVkey(text)!.publicKey

/** A list of witnesses with different addresses and different keys. */
const witnesses: typeof witnessList = {
  ...witnessList,
  words: `list of ${witness.words}`,
  read: (value, fault) => {
    const all = witnessList.read(value, fault)
    if (all?.length !== (Array.isArray(value) ? value.length : undefined)) return all
    for (const [n, one] of all!.entries()) {
      const earlier = all!.slice(0, n)
      if (earlier.some((other) => other.url === one.url)) fault('is the address of another witness', `[${n}].url`)
      const key = publicKey(one.vkey)
      if (earlier.some((other) => isSameHash(publicKey(other.vkey), key)))
        fault('is the key of another witness', `[${n}].vkey`)
    }
    return all
  },
}

/** Settings under `history` (api.md §12). */
export const history = {
  streams: setting(
    integer(1, 1000),
    32,
    'Maximum exports and live streams of the history at once on an instance; half of them without `audit.read`, 4 of one person, service account or issuing token.',
  ),
  network_life: setting(
    durationFrom(86_400_000, 876_000 * 3_600_000),
    none,
    'Time after a day at which the network addresses of its callers without a credential are erased, at least 24h; not set: never.',
  ),
  ledger: {
    name: setting(
      matching(/^[!-*,-~]{1,200}$/, 'must be 1 to 200 visible ASCII characters without a plus sign'),
      none,
      'Beginning of the origin of checkpoints; only the first start reads it. Default: the host of server.public_url and a path.',
    ),
    key_file: setting(
      path,
      {
        shown: '`<storage.data_dir>/signing-key.pem` (embedded), not set (cluster)',
        from: (get): string | undefined =>
          get('storage.type') === 'embedded' ? `${String(get('storage.data_dir'))}/signing-key.pem` : undefined,
      },
      'File with the private key (Ed25519, PKCS#8 PEM) that signs checkpoints; a cluster without it stores the key in MongoDB.',
    ),
    seal_interval: setting(
      durationFrom(1_000, 3_600_000),
      10_000,
      'Maximum age of an event without a checkpoint, from 1s to 1h.',
    ),
    seal_events: setting(integer(1, 100_000), 1000, 'Number of events without a checkpoint that cause one.'),
    witnesses: setting(
      witnesses,
      [],
      'Witnesses `{url, vkey, monitor}` that cosign each checkpoint, at most 8: submission prefix (https; http only for loopback), verifier key, and monitoring prefix (default: url).',
    ),
    scrub_interval: setting(
      durationOrNever,
      86_400_000,
      'Interval at which the whole log is compared with the ledger; 0 for never.',
    ),
  },
}
