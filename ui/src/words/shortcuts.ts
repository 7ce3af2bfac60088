import { control } from './keys.ts'

/** All shortcuts: their keys and actions. */
export const shortcuts = {
  title: 'Keyboard shortcuts',
  off: 'Single keys are switched off in Preferences.',
  keys: 'Keys',
  does: 'What they do',
  groups: [
    {
      name: 'Anywhere',
      of: [
        { keys: [control, 'K'], does: 'Command palette', single: false },
        { keys: ['?'], does: 'Show this list', single: true },
        { keys: ['/'], does: 'Search this page', single: true },
        { keys: ['g', 'f'], does: 'Go to flags', single: true },
        { keys: ['g', 's'], does: 'Go to segments', single: true },
        { keys: ['g', 'e'], does: 'Go to evaluate', single: true },
        { keys: ['g', 'h'], does: 'Go to history', single: true },
        { keys: ['g', 'a'], does: 'Go to access', single: true },
        { keys: ['g', 't'], does: 'Go to static tokens', single: true },
        { keys: ['t'], does: 'Look at another moment', single: true },
        { keys: ['['], does: 'Step back to the previous event in the past', single: true },
        { keys: [']'], does: 'Step forward to the next event in the past', single: true },
        { keys: ['.'], does: 'Back to now', single: true },
      ],
    },
    {
      name: 'On a page',
      of: [
        { keys: ['n'], does: 'Create a new item', single: true },
        { keys: ['e'], does: 'Edit', single: true },
        { keys: ['j'], does: 'Next row', single: true },
        { keys: ['k'], does: 'Previous row', single: true },
        { keys: ['Enter'], does: 'Open the row', single: false },
        { keys: ['x'], does: 'Choose the row', single: true },
        { keys: ['Alt', '↑'], does: 'Move the rollout or rule up', single: false },
        { keys: ['Alt', '↓'], does: 'Move the rollout or rule down', single: false },
        { keys: [control, 'Enter'], does: 'Send the form', single: false },
        { keys: ['Esc'], does: 'Close what is on top; in a search, clear it', single: false },
      ],
    },
  ],
} as const
