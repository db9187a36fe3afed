import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core'

const water: MantineColorsTuple = [
  '#e6f6f8', '#cdebef', '#9dd6de', '#69c0cc', '#41adbc', '#279fb0', '#14869a', '#0c6f80', '#075c6a', '#004a57',
] // prettier-ignore

const gray: MantineColorsTuple = [
  '#f7f8f9', '#f0f2f4', '#e3e7ea', '#d7dce1', '#c3cad1', '#a1aab3', '#7c8690', '#59636e', '#39424b', '#1c232a',
] // prettier-ignore

const dark: MantineColorsTuple = [
  '#e4e8ec', '#c3cbd3', '#9ba6b1', '#6b7682', '#323b45', '#252d35', '#1d242b', '#161b21', '#11161b', '#0c1014',
] // prettier-ignore

export const theme = createTheme({
  primaryColor: 'water',
  primaryShade: { light: 7, dark: 7 },
  colors: { water, gray, dark },
  fontFamily:
    'Inter, "SF Pro Text", "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", "Liberation Sans", Arial, sans-serif',
  fontFamilyMonospace:
    'ui-monospace, SFMono-Regular, "JetBrains Mono", Menlo, Consolas, "Liberation Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  defaultRadius: 'sm',
  radius: { sm: '6px', md: '8px' },
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.25rem' }, h2: { fontSize: '0.9375rem' } } },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'xs' } },
    TextInput: { defaultProps: { size: 'xs' } },
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Select: { defaultProps: { size: 'xs', allowDeselect: false } },
    MultiSelect: { defaultProps: { size: 'xs' } },
    NativeSelect: { defaultProps: { size: 'xs' } },
    PasswordInput: { defaultProps: { size: 'sm' } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    Checkbox: { defaultProps: { size: 'xs', radius: 4 } },
    Modal: {
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.45 },
        closeButtonProps: { 'aria-label': 'Close' },
      },
    },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Tooltip: {
      defaultProps: {
        withArrow: true,
        openDelay: 250,
        multiline: true,
        maw: 320,
        events: { hover: true, focus: true, touch: true },
      },
    },
  },
})

/** Mantine's own dimmed, placeholder, error and border colours are too faint for WCAG 2.2 AA; these are not. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#ffffff',
    '--mantine-color-text': gray[9],
    '--mantine-color-dimmed': gray[7],
    '--mantine-color-placeholder': '#66707b',
    '--mantine-color-error': '#b42318',
    '--mantine-color-anchor': water[8],
    '--mantine-color-default-border': gray[3],
    '--mantine-color-default-hover': gray[1],
  },
  dark: {
    '--mantine-color-body': dark[7],
    '--mantine-color-text': dark[0],
    '--mantine-color-dimmed': dark[2],
    '--mantine-color-placeholder': dark[2],
    '--mantine-color-error': '#ff9a94',
    '--mantine-color-anchor': water[3],
    '--mantine-color-default-border': dark[4],
    '--mantine-color-default-hover': dark[5],
  },
})
