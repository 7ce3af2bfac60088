import { counted } from './common.ts'

/** Texts of restoring a past state. */
export const restore = {
  action: 'Restore this state',
  of: (name: string) => `Restore this state: ${name}`,
  compare: 'Compare with now',
  reason: (position: string) => `Restored from #${position}`,
  region: 'Restored state',
  draft: (moment: string, changes: number) =>
    `${counted(changes, 'change brings', 'changes bring')} back the state as of ${moment}. Nothing is saved yet: review and save.`,
  equal: (thing: string, moment: string) => `This ${thing} is as it was at ${moment}. There is nothing to restore.`,
  moment: (instant: string, zone: string, position: string) => `${instant} ${zone} (#${position})`,
  position: (position: string) => `#${position}`,
  /** Names a moment of an address, which is an instant or a position. */
  at: (moment: string) => (/^\d+$/.test(moment) ? `#${moment}` : moment),
  failed: 'The past state was not restored',
  notThen: (thing: string, key: string, moment: string) => `There was no ${thing} ${key} at ${moment}.`,
  otherType: (type: string) => `Everything but name, description and metadata: it was a ${type} flag.`,
  metadata: 'Metadata: it contains a number that a browser cannot represent exactly.',
  again: {
    heading: (thing: string, key: string) => `Make ${thing} ${key} again`,
    why: (thing: string, key: string, moment: string) =>
      `There is no ${thing} ${key} now. Its state as of ${moment} is brought back in two steps.`,
    first: 'Create it here, with its former name and description.',
    off: 'Create it here, with its former name and description. It is off until you save its state.',
    second: 'Then review the rest of its state, which stands in a draft, and save it.',
    submit: (thing: string) => `Create ${thing}`,
    sending: 'Creating…',
    failed: (thing: string) => `The ${thing} was not created`,
    created: (thing: string, key: string) => `${thing} ${key} created. Review its state and save it.`,
  },
}
