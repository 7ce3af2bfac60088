import { counted, number } from './common.ts'

/** Formats the index of an event. */
const at = (index: number): string => `#${number(index)}`

/** States of the badge. */
const state = {
  verified: 'Verified',
  sealed: 'Sealed',
  suspended: 'Sealing is suspended',
  building: 'Building',
  other: 'Signed with another key',
  unknown: 'Unknown',
  broken: (index: number | undefined): string => (index === undefined ? 'Broken' : `Broken at ${at(index)}`),
}

export const integrity = {
  title: 'Integrity',
  state,
  badge: (word: string) => `Integrity: ${word}`,
  banner: (index: number | undefined) =>
    index === undefined
      ? 'The history does not match what was sealed. Tell your auditors.'
      : `The history does not match what was sealed (from ${at(index)}). Tell your auditors.`,
  bannerOther: 'The history is signed with another key than the one that this browser saw first. Tell your auditors.',
  why: {
    verified: 'This browser recomputed the tree and checked its signature.',
    sealed: 'The service has a signed checkpoint. This browser has not checked it.',
    suspended: 'The service signs no checkpoint, because its sealed record or its signing key is missing.',
    building: 'The service is building the tree over the log. It makes no checkpoint until then.',
    other: 'Another key than the one that this browser saw first signed the newest checkpoint.',
    diverged: 'The service reports that its log is not what it sealed.',
    broken: 'This browser found that the history is not what was sealed.',
  },
  cause: {
    event: (index: number) => `The event with index ${number(index)} does not have the hash of its leaf in the tree.`,
    tree: (index: number) =>
      `The tree differs from a signed checkpoint. The first difference is at ${at(index)} or later.`,
    signature: 'The signature of the newest checkpoint is wrong or malformed.',
    shorter: 'The newest checkpoint has fewer events than this browser verified.',
    history:
      'The newest checkpoint does not extend the history that this browser verified. Verify here to find the place.',
  },
  nothingSealed: 'The ledger has no checkpoint yet.',
  notRead: (message: string) => `The state of the ledger could not be loaded: ${message}`,
  notAsked: 'Your rights could not be loaded.',
  things: 'state of the ledger',

  facts: 'Ledger',
  origin: 'Origin',
  size: 'Events in the tree',
  sealedSize: 'Sealed events',
  count: number,
  root: 'Root',
  sealedAt: 'Sealed',
  keys: 'Keys',
  keySince: 'since',
  keyUntil: 'until',
  keyCompromised: 'Compromised',
  keyKnown: 'Known to this browser',
  witnesses: 'Witnesses',
  noWitnesses: 'No witness is configured. Only saved checkpoints show that all people see the same history.',
  witness: (size: number) => (size === 0 ? 'No cosignature yet' : `Cosigned ${counted(size, 'event', 'events')}`),
  scrub: 'Scrub',
  noScrub: 'The service has not compared the log with the ledger yet.',
  scrubOk: (through: number) => `${counted(through, 'event', 'events')} compared, no difference`,
  scrubBad: (index: number | undefined, kind: string | undefined) =>
    index === undefined ? 'A difference was found' : `A difference was found: ${at(index)} ${kind}`,

  here: 'Verify here',
  hereAbout:
    'This browser reads every entry, recomputes the root and checks the signature of the newest checkpoint. The code of this page comes from the service. The programs under “Verify elsewhere” do not.',
  stop: 'Stop',
  progress: 'Progress',
  progressOf: ({ done, size }: { readonly done: number; readonly size?: number }) =>
    size === undefined ? 'Reading the checkpoint…' : `${number(done)} of ${counted(size, 'event', 'events')}`,
  stopped: 'Stopped. Nothing was verified.',
  verified: (size: number) => `Verified: ${counted(size, 'event', 'events')} and the signature fit the checkpoint.`,
  unchecked: (size: number) =>
    `${counted(size, 'event', 'events')} fit the checkpoint. Its signature was not checked, because this browser or this address has no Ed25519. Use HTTPS and a current browser, or the command line.`,
  unsealed: 'There is no checkpoint to verify yet.',
  notDone: 'The history was not verified',
  lastVerified: 'Verified by this browser',
  lastVerifiedOf: (size: number) => counted(size, 'event', 'events'),
  never: 'Not yet',
  otherKey:
    'If an administrator changed the key, compare the new key with a copy from another source. Only then trust the new key.',
  otherKeyIs: 'New key',
  trust: 'Trust the new key',

  download: 'Download checkpoint',
  saved: {
    heading: 'Saved checkpoint',
    about:
      'Save the newest checkpoint outside this service. At any later time it shows whether one of its events was altered, removed or inserted since.',
    field: 'Checkpoint that you saved',
    file: 'File with a checkpoint',
    compare: 'Compare',
    comparing: 'Comparing…',
    none: 'Paste a checkpoint or choose its file.',
    failed: 'The checkpoint was not compared',
    extended: ({ saved, newest }: { readonly saved: number; readonly newest: number }) =>
      `The newest checkpoint (${counted(newest, 'event', 'events')}) begins with the ${counted(saved, 'event', 'events')} of the saved one, unchanged. “Verify here” checks that the events of the service are those of the checkpoint.`,
    unlike: ({ saved, newest }: { readonly saved: number; readonly newest: number }) =>
      `The newest checkpoint (${counted(newest, 'event', 'events')}) does not begin with the ${counted(saved, 'event', 'events')} of the saved one. Tell your auditors, and keep the saved checkpoint.`,
    malformed: 'This text is no checkpoint. A checkpoint has an origin, a size, a root and a signature line.',
    foreign: 'This checkpoint has another origin. It belongs to another ledger, or to this one before a restart.',
    unsigned: 'No key of this ledger signed this checkpoint.',
    untrusted: 'The newest checkpoint has no valid signature of the key that this browser saw first.',
  },
  elsewhere: 'Verify elsewhere',
  commandLine: 'Command line',
  fsck: 'Another program',
  copyCommand: (name: string) => `Copy ${name}`,
}
