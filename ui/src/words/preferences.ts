export const preferences = {
  title: 'Preferences',
  about: 'Kept in this browser only.',
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  zone: 'Time zone',
  zones: (browser: string) => ({ browser: `Browser: ${browser}`, utc: 'UTC' }),
  exact: 'Exact times',
  density: 'Density',
  densities: { normal: 'Normal', compact: 'Compact' },
  singleKeys: 'Single-key shortcuts',
  clocks: (minutes: number) => `The clock of this browser and that of the service differ by ${minutes} minutes.`,
}
