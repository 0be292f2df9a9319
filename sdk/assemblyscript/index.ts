// What `import ... from "@sluice/policy"` finds.

export * from "./assembly";
