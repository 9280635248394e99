package envs_test
