import { counted } from './common.ts'

/** Texts of unsaved changes. */
export const pending = {
  region: 'Pending changes',
  notSaved: (n: number) => `${counted(n, 'change', 'changes')} not saved`,
  discard: 'Discard changes',
  review: 'Review changes',
  reasonHint: 'Kept in the history with these changes. Optional.',
  keepEditing: 'Keep editing',
  save: 'Save changes',
  saving: 'Saving…',
  saved: (n: number) => `${counted(n, 'change', 'changes')} saved.`,
  changes: 'Changes',
  leave: {
    title: 'Leave without saving?',
    why: (n: number) => `${counted(n, 'change is', 'changes are')} not saved.`,
  },
  conflict: {
    title: (thing: string) => `This ${thing} was changed meanwhile`,
    why: (who: string | undefined, when: string | undefined) =>
      `${who ?? 'Somebody'} changed it${when === undefined ? '' : ` ${when}`}. Nothing of yours was saved. Your changes are still here.`,
    theirs: 'Changed since you opened it',
    yours: 'Your changes',
    keep: 'Keep my changes',
    discard: 'Discard my changes',
    kept: 'Your changes are now based on the present state. Review them before saving.',
    left: 'Left out, because it does not fit any more:',
    same: 'Nothing that is shown here.',
  },
  gone: {
    title: (thing: string) => `This ${thing} was deleted meanwhile`,
    why: 'Nothing of yours was saved. Your changes are still here.',
    copy: 'Copy my changes as JSON',
    json: 'text',
    field: 'Your changes',
  },
}

/** Texts of a deletion. */
export const removal = {
  confirm: 'Type the key to confirm',
  wrong: (key: string) => `Type ${key} to confirm.`,
  sending: 'Deleting…',
  moved: 'It was changed in the meantime. Close this dialog, review the change, then delete it.',
}
